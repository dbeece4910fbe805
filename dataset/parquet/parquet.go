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
	t, ignoredNodes, err := readNodes(dir)
	if err != nil {
		return nil, err
	}
	ignoredEdges, err := readEdges(dir, t)
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
	d.NoteIgnored("nodes", ignoredNodes)
	d.NoteIgnored("edges", ignoredEdges)
	return d, nil
}

func readNodes(dir string) (t *dataset.Table, ignored []string, err error) {
	files, err := dataset.TableFiles(dir, "nodes", ext)
	if err != nil {
		return nil, nil, err
	}
	err = eachFile(dir, files, func(name string, f *table) error {
		columns, err := dataset.PlanNodes(f.names)
		if err != nil {
			return err
		}
		if t == nil {
			t = dataset.NewTable(columns.Split >= 0)
		}
		ignored = columns.Ignored
		return f.nodes(columns, t, name)
	})
	if err == nil && t.Nodes() == 0 {
		err = fmt.Errorf("%s: there are no nodes", files[len(files)-1])
	}
	return t, ignored, err
}

func readEdges(dir string, t *dataset.Table) (ignored []string, err error) {
	files, err := dataset.TableFiles(dir, "edges", ext)
	if err != nil {
		return nil, err
	}
	err = eachFile(dir, files, func(_ string, f *table) error {
		columns, err := dataset.PlanEdges(f.names)
		if err != nil {
			return err
		}
		ignored = columns.Ignored
		return f.edges(columns, t)
	})
	return ignored, err
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
