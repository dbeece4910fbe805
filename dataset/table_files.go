package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TableFile is an open file of nodes or edges. Nodes and Edges add all rows; their errors name row and column.
type TableFile interface {
	Columns() []string
	Nodes(NodeColumns, *Table) error
	Edges(EdgeColumns, *Table) error
}

// TableOpener opens a file of a table, lets use take it, and closes it. Its errors need not name the file.
type TableOpener func(f *os.File, name string, size int64, use func(TableFile) error) error

// TablesFormat returns the format of directories with tables nodes and edges in files of these extensions, each
// with its dot.
func TablesFormat(name, looks string, open TableOpener, exts ...string) Format {
	return Format{
		Name:  name,
		Looks: looks,
		Found: func(dir string) bool {
			_, errNodes := tableFiles(dir, "nodes", exts...)
			_, errEdges := tableFiles(dir, "edges", exts...)
			return errNodes == nil && errEdges == nil
		},
		Read: func(dir string, o OpenOptions) (*Dataset, error) { return readTables(dir, o, open, exts...) },
	}
}

func readTables(dir string, o OpenOptions, open TableOpener, exts ...string) (*Dataset, error) {
	nodeFiles, err := tableFiles(dir, "nodes", exts...)
	if err != nil {
		return nil, err
	}
	edgeFiles, err := tableFiles(dir, "edges", exts...)
	if err != nil {
		return nil, err
	}
	t, ignoredNodes, err := readNodes(dir, nodeFiles, open)
	if err != nil {
		return nil, err
	}
	var edges EdgeColumns
	err = eachTableFile(dir, edgeFiles, open, func(f TableFile) (err error) {
		if edges, err = PlanEdges(f.Columns()); err != nil {
			return err
		}
		return f.Edges(edges, t)
	})
	if err != nil {
		return nil, err
	}
	name, err := nameOf(dir)
	if err != nil {
		return nil, err
	}
	d, err := t.Dataset(name, o)
	if err != nil {
		return nil, err
	}
	d.noteIgnored("nodes", ignoredNodes)
	d.noteIgnored("edges", edges.Ignored)
	return d, nil
}

func readNodes(dir string, files []string, open TableOpener) (t *Table, ignored []string, err error) {
	err = eachTableFile(dir, files, open, func(f TableFile) error {
		columns, err := PlanNodes(f.Columns())
		if err != nil {
			return err
		}
		if t == nil {
			t = NewTable(columns.Split >= 0)
		}
		ignored = columns.Ignored
		return f.Nodes(columns, t)
	})
	if err == nil && t.Nodes() == 0 {
		err = fmt.Errorf("%s: there are no nodes", files[len(files)-1])
	}
	return t, ignored, err
}

// eachTableFile opens the files of one table, which have the same columns in the same order. Errors name the file.
func eachTableFile(dir string, files []string, open TableOpener, use func(TableFile) error) error {
	var first []string
	for _, name := range files {
		err := readFile(dir, name, maxArrayBytes, func(f *os.File, size int64) error {
			return open(f, name, size, func(t TableFile) error {
				if first == nil {
					first = slices.Clone(t.Columns())
				} else if !slices.Equal(t.Columns(), first) {
					return fmt.Errorf("columns %s, want %s as in %s", listed(t.Columns()), listed(first), files[0])
				}
				return use(t)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tableFiles lists the files of a table, relative to dir: dir/table.ext alone, or every dir/table/*.ext, by name.
// exts have their dot.
func tableFiles(dir, table string, exts ...string) ([]string, error) {
	var single []string
	for _, ext := range exts {
		if hasFile(table + ext)(dir) {
			single = append(single, table+ext)
		}
	}
	shards, err := os.ReadDir(filepath.Join(dir, table))
	if err != nil && !missing(err) {
		return nil, err
	}
	var several []string
	for _, shard := range shards {
		if hasExt(shard.Name(), exts) && !strings.HasPrefix(shard.Name(), ".") &&
			!strings.HasPrefix(shard.Name(), "_") {
			several = append(several, filepath.Join(table, shard.Name()))
		}
	}
	switch {
	case len(single) > 1:
		return nil, fmt.Errorf("%s and %s both exist: which holds the %s?", single[0], single[1], table)
	case len(single) == 1 && len(several) > 0:
		return nil, fmt.Errorf("%s and %s both exist: which holds the %s?", single[0], several[0], table)
	case len(single)+len(several) == 0:
		return nil, fmt.Errorf("neither %s%s nor a directory %s with such files exists", table,
			strings.Join(exts, " nor "+table), table)
	}
	return append(single, several...), nil
}

func hasExt(name string, exts []string) bool {
	return slices.ContainsFunc(exts, func(ext string) bool { return strings.HasSuffix(name, ext) })
}
