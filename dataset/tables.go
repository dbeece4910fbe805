package dataset

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"rivulet/schema"
)

// TablesFile is the name of the file that says where a data set's tables are and what their columns mean.
const TablesFile = "data.yaml"

// Tables say where a table of nodes and a table of edges are, and what their columns mean. The zero value is the
// convention of the csv format. In a file its keys are those of the yaml tags, and paths are relative to the
// file.
type Tables struct {
	// Nodes and Edges are files, or directories of files of one header; .csv, .csv.gz, .csv.zst, or .parquet.
	Nodes string `yaml:"nodes,omitempty"`
	Edges string `yaml:"edges,omitempty"`

	// ID, Label and Split are columns of nodes. Empty: id, label, and split if there is one.
	ID    string `yaml:"id,omitempty"`
	Label string `yaml:"label,omitempty"`
	Split string `yaml:"split,omitempty"`
	// SplitValues are the roles that the values of Split stand for: train, val, test, unlabelled or none. Empty:
	// these names and their other forms.
	SplitValues map[string]string `yaml:"split_values,omitempty"`
	// Drop lists columns of nodes that are no features.
	Drop []string `yaml:"drop,omitempty"`
	// Positional says that features have positions and no names: they are numbers, none of which is missing, each
	// in a column of its own, or all in a column features that holds lists.
	Positional bool `yaml:"positional,omitempty"`
	// Types says how the values of a column are read: number, bool, category, text, time or list. Without it the
	// type follows from the values.
	Types map[string]string `yaml:"types,omitempty"`

	// Source, Target and Weight are columns of edges. Empty: source, target, and weight if there is one.
	Source string `yaml:"source,omitempty"`
	Target string `yaml:"target,omitempty"`
	Weight string `yaml:"weight,omitempty"`
	// DropWeights reads every weight of an edge as 1. Otherwise one that is not 1 is an error.
	DropWeights bool `yaml:"drop_weights,omitempty"`

	TextForm `yaml:",inline"`
	// Decimal divides the fraction of a number in text: "." or ",". Empty: ".".
	Decimal string `yaml:"decimal,omitempty"`
}

// TextForm says how files of text are written. Other files refuse it.
type TextForm struct {
	// Separator stands between the cells of a line. Empty: a comma, semicolon, tab or bar, whichever the first
	// line has most of.
	Separator string `yaml:"separator,omitempty"`
	// Encoding is utf-8, latin1 or windows-1252. Empty: utf-8.
	Encoding string `yaml:"encoding,omitempty"`
}

// columnTypes are the types of columns by the names that Tables.Types gives them.
var columnTypes = map[string]schema.ValueType{"number": schema.Number, "bool": schema.Bool, "category": schema.Text,
	"text": schema.Text, "time": schema.Time, "list": schema.Vector}

// IsZero reports whether no field is set, so that the convention of the csv format holds. DropWeights changes no column's
// meaning.
func (t Tables) IsZero() bool {
	return t.Nodes == "" && t.Edges == "" && t.ID == "" && t.Label == "" && t.Split == "" && t.SplitValues == nil &&
		t.Drop == nil && !t.Positional && t.Types == nil && t.Source == "" && t.Target == "" && t.Weight == "" &&
		t.TextForm == TextForm{} && t.Decimal == ""
}

// Over returns t, with the fields that are not set taken from another.
func (t Tables) Over(base Tables) Tables {
	for _, field := range []struct{ of, from *string }{{&t.Nodes, &base.Nodes}, {&t.Edges, &base.Edges}, {&t.ID, &base.ID},
		{&t.Label, &base.Label}, {&t.Split, &base.Split}, {&t.Source, &base.Source}, {&t.Target, &base.Target},
		{&t.Weight, &base.Weight}, {&t.Separator, &base.Separator}, {&t.Encoding, &base.Encoding}, {&t.Decimal, &base.Decimal}} {
		if *field.of == "" {
			*field.of = *field.from
		}
	}
	if t.SplitValues == nil {
		t.SplitValues = base.SplitValues
	}
	if t.Drop == nil {
		t.Drop = base.Drop
	}
	types := maps.Clone(base.Types)
	if types == nil {
		types = t.Types
	} else {
		maps.Copy(types, t.Types)
	}
	t.Types = types
	t.DropWeights = t.DropWeights || base.DropWeights
	t.Positional = t.Positional || base.Positional
	return t
}

// Validate returns an error for a field whose value is none that it can have.
func (t Tables) Validate() error {
	for value, role := range t.SplitValues {
		if _, ok := splitNames[role]; !ok {
			return fmt.Errorf("split values: %.100q stands for %.100q, want train, val, test, unlabelled or none", value, role)
		}
	}
	for column, name := range t.Types {
		if _, ok := columnTypes[name]; !ok {
			return fmt.Errorf("types: column %.100s is %.100q, want number, bool, category, text, time or list", column, name)
		}
	}
	if t.Positional && len(t.Types) > 0 {
		return errors.New("types of columns are given, but features are positional (--positional): they are numbers")
	}
	if t.Decimal != "" && t.Decimal != "." && t.Decimal != "," {
		return fmt.Errorf("decimal is %.20q, want a point or a comma", t.Decimal)
	}
	return nil
}

// ReadTables reads a file of Tables.
func ReadTables(file string) (Tables, error) {
	content, err := os.Open(file)
	if err != nil {
		return Tables{}, err
	}
	defer content.Close()
	t, err := decodeTables(io.LimitReader(content, maxTablesBytes))
	if err != nil {
		return Tables{}, fmt.Errorf("%s: %w", file, err)
	}
	for _, path := range []*string{&t.Nodes, &t.Edges} {
		if !filepath.IsAbs(*path) && !IsURL(*path) {
			*path = filepath.Join(filepath.Dir(file), *path)
		}
	}
	return t, nil
}

// maxTablesBytes bounds a file of Tables.
const maxTablesBytes = 1 << 20

func decodeTables(r io.Reader) (t Tables, err error) {
	in := yaml.NewDecoder(r)
	in.KnownFields(true)
	if err := in.Decode(&t); err != nil && !errors.Is(err, io.EOF) {
		return Tables{}, err
	}
	if t.Nodes == "" || t.Edges == "" {
		return Tables{}, errors.New("want nodes and edges: the files of the two tables")
	}
	return t, t.Validate()
}

// describedTables is the name of the format of tables that a file data.yaml describes.
const describedTables = "tables"

func tablesFormat() Format {
	return Format{
		Name:  describedTables,
		Looks: "a file " + TablesFile + ", or a directory with it, which trainer data init writes",
		Found: func(path string) bool {
			return hasFile(TablesFile)(path) || isYAML(path) && hasFile(filepath.Base(path))(filepath.Dir(path))
		},
		Read: readDescribed,
	}
}

func readDescribed(path string, o OpenOptions) (*Dataset, error) {
	o, name, err := o.described(path)
	if err != nil {
		return nil, err
	}
	return o.readTables(name)
}

// described returns the options with the tables that a file data.yaml describes, and the name of the data set. The
// path is that of the file or of its directory.
func (o OpenOptions) described(path string) (OpenOptions, string, error) {
	file := path
	if !isYAML(path) {
		file = filepath.Join(path, TablesFile)
	}
	t, err := ReadTables(file)
	if err != nil {
		return o, "", err
	}
	o.Tables = o.Tables.Over(t)
	name, err := nameOf(filepath.Dir(file))
	return o, name, err
}

func isYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

// Described returns the tables that a file data.yaml describes, given the path of the file or of its directory, with what
// o.Tables says beside it, and the name of the data set; false if there is no such file.
func Described(path string, o OpenOptions) (t Tables, name string, ok bool, err error) {
	f, err := o.format(path)
	if err != nil || f.Name != describedTables {
		return Tables{}, "", false, nil //nolint:nilerr // Open says what is wrong
	}
	o, name, err = o.described(path)
	return o.Tables, name, err == nil, err
}

// OpenTables reads the tables that o.Tables names. The data set has named features, Columns and no X, unless
// o.Tables.Positional says otherwise.
func OpenTables(o OpenOptions) (*Dataset, error) {
	if o.Tables.Nodes == "" || o.Tables.Edges == "" {
		return nil, errors.New("want a table of nodes and a table of edges")
	}
	d, err := o.readTables(o.Tables.Name())
	if err != nil {
		return nil, fmt.Errorf("loading tables: %w", err)
	}
	return d, nil
}

// Name is that of a data set of two tables: the name of the table of nodes up to its first dot.
func (t Tables) Name() string {
	name, _, _ := strings.Cut(filepath.Base(t.Nodes), ".")
	return name
}

func (o OpenOptions) readTables(name string) (*Dataset, error) {
	nodes, edges, err := o.sources()
	if err != nil {
		return nil, err
	}
	return o.read(name, nodes, edges, false)
}

// sources finds the files of both tables.
func (o OpenOptions) sources() (nodes, edges tableSource, err error) {
	nodes, errNodes := o.source(o.Tables.Nodes)
	edges, errEdges := o.source(o.Tables.Edges)
	return nodes, edges, errors.Join(errNodes, errEdges, o.Tables.Validate())
}

// source finds the files of one table.
func (o OpenOptions) source(path string) (tableSource, error) {
	if IsURL(path) {
		return tableSource{}, urlError(path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return tableSource{}, err
	}
	var known []string
	for _, f := range append(Formats(), o.More...) {
		if f.tables == nil {
			continue
		}
		known = append(known, f.tables.exts...)
		s := tableSource{files: []string{path}, open: f.tables.open, form: o.Tables.TextForm}
		if !info.IsDir() && hasExt(path, f.tables.exts) {
			return s, nil
		}
		if info.IsDir() {
			if s.files, err = shards(path, f.tables.exts); err != nil || len(s.files) > 0 {
				return s, err
			}
		}
	}
	if hasExt(path, []string{".parquet"}) {
		return tableSource{}, fmt.Errorf("%s is Parquet, which this program does not read", path)
	}
	return tableSource{}, fmt.Errorf("%s is no table, and no directory of tables, whose names end in %s", path,
		strings.Join(known, ", "))
}
