package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"rivulet/graph"
)

// Place is the place of a row of a table, for errors.
type Place struct {
	File string // its name within the data set
	Unit string // "line" or "row"
	Row  int    // the first is 1
}

func (p Place) String() string { return fmt.Sprintf("%s %s %d", p.File, p.Unit, p.Row) }

// NodeRow is one node of a table.
type NodeRow struct {
	ID       string
	Features []float32 // copied
	Label    string    // empty: none
	Split    string    // see [Table.AddNode]; empty: no role
}

// Table builds a data set from rows of nodes and, after them, of edges; all table formats share it. Methods return
// errors with the column but without the place of the row, which the caller knows.
type Table struct {
	o      Tables
	splits bool    // the nodes have a column split
	named  bool    // features are columns beside the table
	faults *Faults // nil: faults are errors

	ids    []string
	index  map[string]int32
	places []Place
	labels []string
	split  []string // canonical
	x      []float32
	width  int
	names  map[string]string // one copy of each label

	edges   [][2]int32
	loops   int // self-loops dropped
	weights int // weights other than 1 that were dropped
}

// maxFeatureBytes bounds the features of a table, as maxArrayBytes bounds an array.
const maxFeatureBytes = maxArrayBytes

// NewTable returns an empty table whose nodes have no column split.
func NewTable(o Tables) *Table {
	return &Table{o: o, index: map[string]int32{}, names: map[string]string{}}
}

// Nodes returns the number of nodes so far.
func (t *Table) Nodes() int { return len(t.ids) }

// splitNames maps the names of roles in tables to the roles.
var splitNames = map[string]string{
	"train": "train", "tr": "train", "training": "train",
	"val": "val", "va": "val", "valid": "val", "validation": "val",
	"test": "test", "te": "test",
	"unlabelled": "unlabelled", "unlabeled": "unlabelled", "un": "unlabelled",
	"": "", "none": "",
}

// AddNode takes the next node. Ids are distinct and not empty; all nodes have as many features as the first; split
// is train, val, test or unlabelled, or one of their other names (tr, training; va, valid, validation; te; un,
// unlabeled), or a value that Tables.SplitValues maps to one of these, or empty or none for a node in no role;
// train, val and test nodes need a label. In a table with named features a node without label and split is
// unlabelled.
func (t *Table) AddNode(n NodeRow, at Place) error {
	if n.ID == "" {
		return fault{unnamed, fmt.Errorf("column %s: it is empty", t.o.id())}
	}
	if !utf8.ValidString(n.ID) || !utf8.ValidString(n.Label) {
		return fmt.Errorf("id %.100q or label %.100q is not UTF-8", n.ID, n.Label)
	}
	if first, twice := t.index[n.ID]; twice {
		return fault{repeated, fmt.Errorf("column %s: %.100q is already the id of %s", t.o.id(), n.ID, t.places[first])}
	}
	if len(t.ids) == math.MaxInt32 {
		return fmt.Errorf("more than %d nodes", math.MaxInt32)
	}
	if len(t.ids) == 0 {
		t.width = len(n.Features)
		if t.width == 0 && !t.named {
			return errors.New("the nodes have no features")
		}
	}
	if len(n.Features) != t.width {
		return fmt.Errorf("column features: %d values, want %d as in %s", len(n.Features), t.width, t.places[0])
	}
	if int64(len(t.x)+t.width) > maxFeatureBytes/4 {
		return fmt.Errorf("features of more than the allowed %d bytes", int64(maxFeatureBytes))
	}
	split, err := t.role(n)
	if err != nil {
		return err
	}
	label, known := t.names[n.Label]
	if !known {
		label = strings.Clone(n.Label)
		t.names[label] = label
	}
	id := strings.Clone(n.ID)
	t.index[id] = int32(len(t.ids))
	t.ids = append(t.ids, id)
	t.places = append(t.places, at)
	t.labels = append(t.labels, label)
	t.split = append(t.split, split)
	t.x = append(t.x, n.Features...)
	return nil
}

// role returns the canonical name of a node's role, empty for none.
func (t *Table) role(n NodeRow) (string, error) {
	said, mapped := t.o.SplitValues[n.Split]
	if !mapped {
		if said = n.Split; t.o.SplitValues != nil && said != "" {
			return "", fault{splitless, fmt.Errorf("column %s: %.100q is none of the values that are said to stand for a role",
				cmp.Or(t.o.Split, "split"), n.Split)}
		}
	}
	split, ok := splitNames[strings.ToLower(said)]
	switch {
	case !ok:
		return "", fault{splitless,
			fmt.Errorf("column %s: %.100q is not one of train, val, test, unlabelled: say which values stand for these",
				cmp.Or(t.o.Split, "split"), n.Split)}
	case n.Label == "" && split != "" && split != "unlabelled":
		return "", fault{unlabelled,
			fmt.Errorf("column %s: it is empty, but a %s node needs one", cmp.Or(t.o.Label, "label"), split)}
	case t.named && n.Label == "" && n.Split == "":
		return "unlabelled", nil
	}
	return split, nil
}

func (t Tables) id() string { return cmp.Or(t.ID, "id") }

// AddEdge takes an edge between two nodes that were added before. It has no direction: the other direction and
// repetitions are merged with it. Self-loops are dropped and counted.
func (t *Table) AddEdge(source, target string) error {
	i, ok := t.index[source]
	if !ok {
		return t.dangling(cmp.Or(t.o.Source, "source"), source)
	}
	j, ok := t.index[target]
	if !ok {
		return t.dangling(cmp.Or(t.o.Target, "target"), target)
	}
	if i == j {
		t.loops++
		return nil
	}
	t.edges = append(t.edges, [2]int32{i, j})
	return nil
}

// dangling returns the error of an edge to an id that no node has.
func (t *Table) dangling(column, id string) error {
	hint := ""
	if v, err := strconv.ParseFloat(id, 64); err == nil {
		for _, other := range []string{strconv.FormatFloat(v, 'f', -1, 64), strconv.FormatFloat(v, 'f', 1, 64)} {
			if _, ok := t.index[other]; ok {
				hint = fmt.Sprintf(", but %q is: write the ids of both tables in one form, as integers or text", other)
			}
		}
	}
	return fault{dangling, fmt.Errorf("column %s: %.100q is not the id of a node%s", column, id, hint)}
}

// Dataset returns the data set of the rows. Its classes are the labels, in numerical order if all are integers,
// else in the order of their bytes; labels of unlabelled nodes are dropped first.
func (t *Table) Dataset(name string, o OpenOptions) (*Dataset, error) {
	if len(t.ids) == 0 {
		return nil, errors.New("there are no nodes")
	}
	d := &Dataset{Name: name, IDs: t.ids}
	if !t.named {
		d.X.Dense = &graph.Dense{Rows: len(t.ids), Cols: t.width, Data: t.x}
	}
	t.index, t.places = nil, nil
	d.Adj = undirected(d, t.edges, t.loops)
	t.edges = nil
	if t.weights > 0 {
		d.note("Weights of edges were dropped: %d were not 1.", t.weights)
	}
	if err := t.classes(d); err != nil {
		return nil, err
	}
	if !t.splits {
		return d, d.drawSplit(o.SplitSeed)
	}
	for i, s := range t.split {
		switch s {
		case "train":
			d.Train = append(d.Train, int32(i))
		case "val":
			d.Validation = append(d.Validation, int32(i))
		case "test":
			d.Test = append(d.Test, int32(i))
		case "unlabelled":
			d.Unlabelled = append(d.Unlabelled, int32(i))
		}
	}
	if withheld := len(d.Withheld()); t.named && withheld > 0 {
		d.note("%d nodes have a label and no split: they are in no role, and left out.", withheld)
	}
	return d, t.faults.take(d.checkRoles(), Place{})
}

func (t *Table) classes(d *Dataset) error {
	for i := range t.labels {
		if t.split[i] == "unlabelled" {
			t.labels[i] = ""
		}
	}
	d.Labels, d.Classes = numbered(t.labels)
	if len(d.Classes) == 0 {
		return fmt.Errorf("column %s: no node has a label", cmp.Or(t.o.Label, "label"))
	}
	return nil
}

// byValue orders names by their integer value if all have one, else by their bytes.
func byValue(names []string) func(a, b string) int {
	values := make(map[string]int, len(names))
	for _, name := range names {
		v, err := strconv.Atoi(name)
		if err != nil {
			return strings.Compare
		}
		values[name] = v
	}
	return func(a, b string) int {
		return cmp.Or(cmp.Compare(values[a], values[b]), strings.Compare(a, b)) // "1" and "01"
	}
}

// undirected builds the adjacency matrix of undirected edges and notes how many were merged or dropped.
func undirected(d *Dataset, edges [][2]int32, loops int) *graph.CSR {
	adj := newSymmetric(len(d.IDs), edges)
	adj.SortRows() // a pattern: repetitions become one entry
	if loops > 0 {
		d.note("%d self-loops were dropped: a model adds its own.", loops)
	}
	if merged := len(edges) - adj.NNZ()/2; merged > 0 {
		d.note("%d of %d edges were merged with one that is the same or its other direction.", merged, len(edges))
	}
	return adj
}

func (d *Dataset) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}
