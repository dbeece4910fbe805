package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"rivulet/dataset/csv"
	"rivulet/dataset/file"
	"rivulet/dataset/table"
)

// TablesFormat returns the format of directories with tables nodes and edges in files of a kind.
func TablesFormat(name, looks string, kind table.Kind) Format {
	return Format{
		Name:  name,
		Looks: looks,
		Found: func(dir string) bool {
			_, errNodes := kind.Conventional(dir, "nodes", table.TextForm{})
			_, errEdges := kind.Conventional(dir, "edges", table.TextForm{})
			return errNodes == nil && errEdges == nil
		},
		Read: func(dir string, o OpenOptions) (*Dataset, error) {
			t, err := o.conventional(dir, kind)
			if err != nil {
				return nil, err
			}
			return readTables(t, o.Tables.IsZero(), o)
		},
		Tables: &kind,
	}
}

var csvFormat = TablesFormat(CSV,
	"a directory with nodes.csv and edges.csv, or directories nodes and edges of such files, .gz, .zst or neither",
	csv.Kind)

// describedTables is the name of the format of tables that a file data.yaml describes.
const describedTables = "tables"

func tablesFormat() Format {
	return Format{
		Name:  describedTables,
		Looks: "a file " + table.SettingsFile + ", or a directory with it, which trainer data init writes",
		Found: func(path string) bool {
			return file.Has(path, table.SettingsFile) || isYAML(path) && file.Has(filepath.Dir(path), filepath.Base(path))
		},
		Read: func(path string, o OpenOptions) (*Dataset, error) {
			o, name, err := o.described(path)
			if err != nil {
				return nil, err
			}
			return o.readNamed(name)
		},
	}
}

// sources are the files of two tables.
type sources struct {
	name         string // of the data set
	nodes, edges table.Source
	features     table.Source // a table of their own; zero: there is none
}

// conventional finds the tables of a directory.
func (o OpenOptions) conventional(dir string, kind table.Kind) (s sources, err error) {
	var errNodes, errEdges, errName error
	s.nodes, errNodes = kind.Conventional(dir, "nodes", o.Tables.TextForm)
	s.edges, errEdges = kind.Conventional(dir, "edges", o.Tables.TextForm)
	s.name, errName = file.Name(dir)
	if err := errors.Join(errNodes, errEdges, errName); err != nil {
		return s, err
	}
	s.nodes, s.edges, err = o.Tables.Complete(s.nodes, s.edges, []table.Kind{kind})
	return s, err
}

// named finds the tables that the settings name.
func (o OpenOptions) named(name string) (s sources, err error) {
	var errFeatures error
	s.name = name
	s.nodes, s.edges, err = o.Tables.Open(Kinds())
	if o.Tables.Features != "" {
		s.features, errFeatures = table.Named(o.Tables.Features, Kinds(), o.Tables.TextForm)
	}
	return s, errors.Join(err, errFeatures)
}

func (o OpenOptions) readNamed(name string) (*Dataset, error) {
	t, err := o.named(name)
	if err != nil {
		return nil, err
	}
	return readTables(t, false, o)
}

// described returns the options with the tables that a file data.yaml describes, and the name of the data set. The path
// leads to the file or its directory.
func (o OpenOptions) described(path string) (OpenOptions, string, error) {
	if !isYAML(path) {
		path = filepath.Join(path, table.SettingsFile)
	}
	t, err := table.ReadSettings(path)
	if err != nil {
		return o, "", err
	}
	o.Tables = o.Tables.Over(t)
	name, err := file.Name(filepath.Dir(path))
	return o, name, err
}

func isYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

// OpenTables reads the tables that o.Tables names. The data set has named features, Columns and no X, unless
// o.Tables.Positional says otherwise.
func OpenTables(o OpenOptions) (*Dataset, error) {
	if o.Tables.Nodes == "" && o.Tables.Ends == "" && o.Tables.HasLabels() || o.Tables.Edges == "" {
		return nil, errors.New("want a table of nodes and a table of edges")
	}
	d, err := o.readNamed(o.Tables.Name())
	if err != nil {
		return nil, fmt.Errorf("loading tables: %w", err)
	}
	return d, nil
}
