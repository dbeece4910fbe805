package parquet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/parquet-go/parquet-go"

	"rivulet/dataset"
)

const ext = ".parquet"

// Format reads a directory of Parquet tables; the package documentation has their columns.
var Format = dataset.Format{
	Name:  "parquet",
	Looks: "a directory with nodes.parquet and edges.parquet, or directories nodes and edges of such files",
	Found: func(path string) bool {
		_, errNodes := dataset.TableFiles(path, "nodes", ext)
		_, errEdges := dataset.TableFiles(path, "edges", ext)
		return errNodes == nil && errEdges == nil
	},
	Read: read,
}

func read(dir string, o dataset.OpenOptions) (*dataset.Dataset, error) {
	nodes, err := dataset.TableFiles(dir, "nodes", ext)
	if err != nil {
		return nil, err
	}
	edges, err := dataset.TableFiles(dir, "edges", ext)
	if err != nil {
		return nil, err
	}
	var t *dataset.Table
	var ignored [2][]string
	err = eachFile(dir, nodes, func(name string, f *table) error {
		columns, err := dataset.PlanNodes(f.names)
		if err != nil {
			return err
		}
		if t == nil {
			t = dataset.NewTable(columns.Split >= 0)
		}
		ignored[0] = columns.Ignored
		return f.nodes(columns, t, name)
	})
	if err != nil {
		return nil, err
	}
	if t.Nodes() == 0 {
		return nil, fmt.Errorf("%s: there are no nodes", nodes[len(nodes)-1])
	}
	err = eachFile(dir, edges, func(_ string, f *table) error {
		columns, err := dataset.PlanEdges(f.names)
		if err != nil {
			return err
		}
		ignored[1] = columns.Ignored
		return f.edges(columns, t)
	})
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	d, err := t.Dataset(filepath.Base(abs), o)
	if err != nil {
		return nil, err
	}
	d.NoteIgnored("nodes", ignored[0])
	d.NoteIgnored("edges", ignored[1])
	return d, nil
}

// eachFile opens the files of one table, which have the same columns in the same order. Errors name the file.
func eachFile(dir string, files []string, use func(name string, f *table) error) error {
	var first []string
	for _, name := range files {
		err := withFile(filepath.Join(dir, name), func(f *table) error {
			if first == nil {
				first = f.names
			} else if !slices.Equal(f.names, first) {
				return fmt.Errorf("columns %q, want %q as in %s", f.names, first, files[0])
			}
			return use(name, f)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func withFile(path string, use func(f *table) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	return guarded(func() error {
		t, err := openTable(f, info.Size(), defaults)
		if err != nil {
			return err
		}
		defer t.close()
		return use(t)
	})
}

// guarded makes errors of panics: the library slices and indexes by what a file says. Faults of its assembly become
// panics too.
func guarded(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed content: %v", p)
		}
	}()
	return read()
}

// options keep the library from reading what is not needed, and from reading ahead in goroutines of its own.
var options = []parquet.FileOption{
	parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.FileReadMode(parquet.ReadModeSync),
}
