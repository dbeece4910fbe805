package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"rivulet/infer/target"
	"rivulet/schema"
)

// SettingsFile is the name of the file with the places of a data set's tables and the meaning of their columns.
const SettingsFile = "data.yaml"

// Settings say where a table of nodes and a table of edges are, and what their columns mean. The zero value is the
// convention of the csv format. In a file the keys are the yaml tags, and paths are relative to the file.
type Settings struct {
	// Nodes and Edges are files of text or .parquet, or directories of such files of one header. Nodes of several types
	// have a table each: user=users.csv,item=items.csv, in a file a mapping of types to tables. Edges may be several
	// tables,
	// with commas between. Without Nodes the nodes are the ids at the ends of edges. One file may have both: rows with an
	// id are nodes then, and rows with a source are edges.
	Nodes NodesPath `yaml:"nodes,omitempty"`
	Edges string    `yaml:"edges,omitempty"`

	// ID, Label and Split are columns of nodes. Empty: id, label, and split if there is one. ID, Source and Target may be
	// several names, with commas between: of each table that which it has.
	ID    string `yaml:"id,omitempty"`
	Label string `yaml:"label,omitempty"`
	// Task is the kind of the labels: classes (or empty), labels or number. Of the latter two Label may be several
	// columns, with commas between. Of links there are none.
	Task string `yaml:"task,omitempty"`
	// Candidates names the nodes with which a task of links answers by a column and its value: kind=item. The column is no
	// feature. Empty: all nodes of T.
	Candidates string `yaml:"candidates,omitempty" json:",omitempty"`
	Split      string `yaml:"split,omitempty"`
	// SplitValues are the roles that the values of Split stand for: train, val, test, unlabelled or none. Empty:
	// these names and their other forms.
	SplitValues map[string]string `yaml:"split_values,omitempty"`
	// Time is the column of nodes that says when each came, as a number or a date. It is no feature. Empty: none does.
	Time string `yaml:"time,omitempty"`
	// Drop lists columns of nodes that are no features.
	Drop []string `yaml:"drop,omitempty"`
	// Positional says that features have positions and no names: they are numbers, none missing, each in a column of its
	// own, or all in a column features that holds lists.
	Positional bool `yaml:"positional,omitempty"`
	// Types describes how the values of a column are read: number, bool, category, text, time or list. Without it the
	// type follows from the values.
	Types map[string]string `yaml:"types,omitempty"`

	// Features is a table of the columns node, feature and value, a row for each feature of a node that is not 0; without
	// the column value it is 1. Features have positions then, in the order of their names, and other columns are ignored.
	Features string `yaml:"features,omitempty"`
	// Degree adds a feature of the column degree: the number of a node's neighbours in the table of edges.
	Degree bool `yaml:"degree,omitempty" json:",omitempty"`
	// LabelTable is a table of the ids and labels of nodes, whose own table has none. Empty: it has.
	LabelTable string `yaml:"label_table,omitempty" json:",omitempty"`
	// LabelMark stands between the labels in a cell, of the task labels. Empty: a semicolon.
	LabelMark string `yaml:"label_mark,omitempty" json:",omitempty"`

	// Source, Target and Weight are columns of edges. Empty: source, target, and weight if there is one.
	Source string `yaml:"source,omitempty"`
	Target string `yaml:"target,omitempty"`
	Weight string `yaml:"weight,omitempty"`
	// Ends are the types of nodes at the source and the target of edges, where ids tell nodes of one type alone apart:
	// user:item. Of several tables of edges there may be a pair for each, with commas between. A node's id is its type and
	// id then, user:5; a type without a table has the ids that edges have. Empty: no two nodes have one id.
	Ends string `yaml:"ends,omitempty" json:",omitempty"`
	// DropWeights reads every weight of an edge as 1.
	DropWeights bool `yaml:"drop_weights,omitempty"`

	// EdgeType is the column of edges that has their type: a relation each. Empty: edges have no types.
	EdgeType string `yaml:"edge_type,omitempty" json:",omitempty"`
	// Directed keeps the directions of edges, which lead from the source to the target. Otherwise each goes both ways.
	Directed bool `yaml:"directed,omitempty" json:",omitempty"`
	// ArrivalEdges says which edges arrivals bring where edges have directions: both, those that lead from them (out), or
	// those that lead to them (in). Nodes that are not in T are attached by these alone. Empty: both.
	ArrivalEdges string `yaml:"arrival_edges,omitempty" json:",omitempty"`

	// DropUnknown drops edges to and from ids that no node has, and counts them. Otherwise such an edge is an error.
	DropUnknown bool `yaml:"drop_unknown,omitempty"`

	TextForm `       yaml:",inline"`
	// Decimal divides the fraction of a number in text: "." or ",". Empty: ".".
	Decimal string `yaml:"decimal,omitempty"`
}

// TextForm describes how files of text are written. Other files refuse it.
type TextForm struct {
	// Separator stands between the cells of a line: a character, one twice such as ::, or blanks for any number of spaces
	// and tabs. Empty: a comma, semicolon, tab or bar, whichever the first line has most of, or else blanks.
	Separator string `yaml:"separator,omitempty"`
	// Header says of files by their names whether their first line has names of columns: first, or none. Columns without
	// names are 0, 1, and so on. Empty: the first lines tell.
	Header map[string]string `yaml:"header,omitempty" json:",omitempty"`
	// Encoding is utf-8, latin1 or windows-1252. Empty: utf-8.
	Encoding string `yaml:"encoding,omitempty"`
}

// HeaderOf returns what Header says of a file, by its own name or that of its directory.
func (f TextForm) HeaderOf(path string) string {
	return cmp.Or(f.Header[filepath.Base(path)], f.Header[filepath.Base(filepath.Dir(path))])
}

// columnTypes are the types of columns by the names that Settings.Types gives them.
var columnTypes = map[string]schema.ValueType{"number": schema.Number, "bool": schema.Bool, "category": schema.Text,
	"text": schema.Text, "time": schema.Time, "list": schema.Vector}

// IsZero reports whether no field is set, so that the convention of the csv format holds. DropWeights, DropUnknown, and
// the directions and types of edges change no other column's meaning.
func (t Settings) IsZero() bool {
	columns := t
	columns.DropWeights, columns.DropUnknown, columns.Directed = false, false, false
	columns.ArrivalEdges, columns.EdgeType = "", ""
	return reflect.ValueOf(columns).IsZero()
}

// Over returns t, with the fields that are not set taken from another. Types of columns are added to the other's.
func (t Settings) Over(base Settings) Settings {
	types := maps.Clone(base.Types)
	if types == nil {
		types = t.Types
	} else {
		maps.Copy(types, t.Types)
	}
	over(reflect.ValueOf(&t).Elem(), reflect.ValueOf(base))
	t.Types = types
	return t
}

// over sets the fields of a struct that are zero to those of another one.
func over(to, from reflect.Value) {
	for k := range to.NumField() {
		switch field := to.Field(k); {
		case field.Kind() == reflect.Struct:
			over(field, from.Field(k))
		case field.IsZero():
			field.Set(from.Field(k))
		}
	}
}

// Truth is the form of the labels; of one class where no task is named.
func (t Settings) Truth() target.Truth {
	task, err := target.Parse(t.Task)
	if err != nil {
		return target.OneClass // Validate says what is wrong
	}
	return task.Truth()
}

// HasLabels reports whether nodes have labels: a task that learns from edges has none.
func (t Settings) HasLabels() bool { return t.Truth() != target.Neighbours }

// Validate returns an error for a field with an impossible value.
func (t Settings) Validate() error {
	if _, err := target.Parse(t.Task); err != nil {
		return err
	}
	if err := t.CheckDirections(); err != nil {
		return err
	}
	if err := t.checkLinks(); err != nil {
		return err
	}
	if err := errors.Join(t.checkNodeTables(), t.checkEnds()); err != nil {
		return err
	}
	for file, line := range t.Header {
		if line != "first" && line != "none" {
			return fmt.Errorf("header: %.100s is %.40q, want first or none", file, line)
		}
	}
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
	if t.Features != "" && (t.Positional || len(t.Types) > 0) {
		return errors.New(
			"features are in a table of their own (features): columns of nodes are none, and have neither types nor positions",
		)
	}
	if t.Positional && len(t.Types) > 0 {
		return errors.New("types of columns are given, but features are positional (--positional): they are numbers")
	}
	if t.Decimal != "" && t.Decimal != "." && t.Decimal != "," {
		return fmt.Errorf("decimal is %.20q, want a point or a comma", t.Decimal)
	}
	return nil
}

// CheckDirections is the part of [Settings.Validate] that is about the directions of edges.
func (t Settings) CheckDirections() error {
	switch t.ArrivalEdges {
	case "", "both", "out", "in":
	default:
		return fmt.Errorf("arrival_edges is %.20q, want both, out or in", t.ArrivalEdges)
	}
	if t.ArrivalEdges != "" && !t.Directed {
		return fmt.Errorf("arrival_edges is %s, and edges have no directions: --directed (directed: true) keeps them",
			t.ArrivalEdges)
	}
	return nil
}

// ReadSettings reads a file of Settings.
func ReadSettings(file string) (Settings, error) {
	content, err := os.Open(file)
	if err != nil {
		return Settings{}, err
	}
	defer content.Close()
	text, err := io.ReadAll(io.LimitReader(content, maxSettingsBytes+1))
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(text) > maxSettingsBytes {
		return Settings{}, fmt.Errorf("%s has more than %d bytes: is it a table?", file, maxSettingsBytes)
	}
	t, err := decodeSettings(bytes.NewReader(text))
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, err)
	}
	in := func(path string) string {
		if path == "" || filepath.IsAbs(path) || IsURL(path) {
			return path
		}
		return filepath.Join(filepath.Dir(file), path)
	}
	t.MapPaths(in)
	return t, nil
}

// MapPaths applies a function to the path of each table.
func (t *Settings) MapPaths(path func(string) string) {
	edges := t.EdgeTables()
	for k := range edges {
		edges[k] = path(edges[k])
	}
	t.Nodes, t.Edges, t.Features = t.mapNodes(path), strings.Join(edges, ","), path(t.Features)
	t.LabelTable = path(t.LabelTable)
}

// maxSettingsBytes bounds a file of Settings.
const maxSettingsBytes = 1 << 20

// Name is the name of a data set of two tables: the file name of the first table of nodes up to its first dot.
func (t Settings) Name() string {
	path := cmp.Or(string(t.Nodes), t.EdgeTables()[0])
	if tables := t.NodeTables(); tables != nil {
		path = tables[0].Path
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}
