package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TableFile is an open file of nodes or edges.
type TableFile interface {
	// Columns returns the names of the columns.
	Columns() []string
	// Categorical reports whether the file declares that the values of a column are categories.
	Categorical(column int) bool
	// Each calls use with the cells of the given columns of each row. Its errors name the row.
	Each(columns []int, use func(cells []Cell, at Place) error) error
}

// TableOpener opens a file of a table, lets use take it, and closes it. Its errors need not name the file.
type TableOpener func(f *os.File, name string, size int64, form TextForm, use func(TableFile) error) error

// tableFormat is a form of tables.
type tableFormat struct {
	exts []string // with their dot
	open TableOpener
}

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
		Read:   func(dir string, o OpenOptions) (*Dataset, error) { return readDirectory(dir, o, open, exts...) },
		tables: &tableFormat{exts, open},
	}
}

// tableSource is the files of one table, which have the same columns in the same order.
type tableSource struct {
	dir   string // that the names of files are relative to, in errors too
	files []string
	open  TableOpener
	form  TextForm
}

// readDirectory reads tables that lie where the convention says. If all features are numbers, and nothing is
// said about columns, they have positions, as they do if it is said; otherwise names.
func readDirectory(dir string, o OpenOptions, open TableOpener, exts ...string) (*Dataset, error) {
	nodeFiles, err := tableFiles(dir, "nodes", exts...)
	if err != nil {
		return nil, err
	}
	edgeFiles, err := tableFiles(dir, "edges", exts...)
	if err != nil {
		return nil, err
	}
	name, err := nameOf(dir)
	if err != nil {
		return nil, err
	}
	if err := o.Tables.Validate(); err != nil {
		return nil, err
	}
	nodes, edges := tableSource{dir, nodeFiles, open, o.Tables.TextForm}, tableSource{dir, edgeFiles, open, o.Tables.TextForm}
	return o.read(name, nodes, edges, o.Tables.IsZero())
}

// read reads tables. Features have positions if it is said, or if they may have and all are numbers; otherwise names.
func (o OpenOptions) read(name string, nodes, edges tableSource, mayBePositional bool) (*Dataset, error) {
	try := mayBePositional || o.Tables.Positional
	if try && o.Faults == nil {
		d, err := readPositional(name, nodes, edges, o)
		if o.Tables.Positional || !errors.Is(err, errNoNumber) {
			return d, err
		}
	}
	d, err := readNamed(name, nodes, edges, o)
	if err == nil && try && o.Faults != nil && len(o.Faults.Kinds) == 0 {
		positional, failed := readPositional(name, nodes, edges, OpenOptions{SplitSeed: o.SplitSeed, Tables: o.Tables})
		if err = d.asRead(positional, failed); o.Tables.Positional {
			err = failed
		}
	}
	return d, err
}

// asRead takes the notes of tables as they are read where their faults are no concern, by position if that can be. d has their
// columns.
func (d *Dataset) asRead(positional *Dataset, err error) error {
	switch {
	case errors.Is(err, errNoNumber):
		return nil
	case err != nil:
		return err
	}
	d.Notes = positional.Notes
	return nil
}

// each opens the files. Errors name the file.
func (s tableSource) each(use func(TableFile) error) error {
	var first []string
	for _, name := range s.files {
		err := readFile(s.dir, name, maxArrayBytes, func(f *os.File, size int64) error {
			return s.open(f, name, size, s.form, func(t TableFile) error {
				if first == nil {
					first = slices.Clone(t.Columns())
				} else if !slices.Equal(t.Columns(), first) {
					return fmt.Errorf("columns %s, want %s as in %s", listed(t.Columns()), listed(first), s.files[0])
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
	several, err := shards(filepath.Join(dir, table), exts)
	if err != nil && !missing(err) {
		return nil, err
	}
	for k, shard := range several {
		several[k] = filepath.Join(table, filepath.Base(shard))
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

// shards lists the files of a directory that have one of the extensions, by name.
func shards(dir string, exts []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if name := entry.Name(); hasExt(name, exts) && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files, nil
}

func hasExt(name string, exts []string) bool {
	return slices.ContainsFunc(exts, func(ext string) bool { return strings.HasSuffix(name, ext) })
}
