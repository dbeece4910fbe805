package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rivulet/dataset/file"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/target"
)

// builder makes a data set of rows of nodes and, after them, of edges: they are kept. Its methods return errors with
// the column but without the place of the row.
type builder struct {
	settings table.Settings
	width    int           // of features by position; 0: they have names
	faults   *table.Faults // nil: faults are errors

	ids    []string
	index  map[string]int32
	places []table.Place
	labels []string
	split  []string
	times  []float64 // nil: the settings name no column of times
	// targets are the numbers to learn as they are written, node by node; nil: the task is another one.
	targets []float64
	x       []float32
	names   map[string]string // one copy of each label and type of edges

	edges   [][2]int32
	weights []float32 // nil as long as all are 1
	kinds   []string  // types of the edges; nil: they have none
	loops   int       // self-loops dropped
	unknown int       // edges to or from unknown ids that were dropped
}

// maxFeatureBytes bounds the features of a table, as file.MaxBytes bounds an array.
const maxFeatureBytes = file.MaxBytes

// addNode takes the next node. Ids are distinct, and all nodes have as many features by position.
func (b *builder) addNode(n table.Node) error {
	if !utf8.ValidString(n.ID) || !utf8.ValidString(n.Label) {
		return fmt.Errorf("id %.100q or label %.100q is not UTF-8", n.ID, n.Label)
	}
	if first, twice := b.index[n.ID]; twice {
		hint := ""
		if b.settings.NodeTables() != nil {
			hint = "; ids are distinct over all types: --ends user:item says the types at the ends of edges, and ids are " +
				"then user:7"
		}
		return table.Fault{Kind: table.Repeated, Err: fmt.Errorf("column %s: %.100q is already the id of %s%s",
			cmp.Or(b.settings.ID, "id"), n.ID, b.places[first], hint)}
	}
	if len(b.ids) == math.MaxInt32 {
		return fmt.Errorf("more than %d nodes", math.MaxInt32)
	}
	if len(n.Features) != b.width {
		return fmt.Errorf("column features: %d values, want %d as in %s", len(n.Features), b.width, b.places[0])
	}
	if int64(len(b.x)+b.width) > maxFeatureBytes/4 {
		return fmt.Errorf("features of more than the allowed %d bytes", int64(maxFeatureBytes))
	}
	for k, v := range n.Features {
		if err := checkMagnitude(float64(v)); err != nil {
			return fmt.Errorf("feature %d: %w", k, err)
		}
	}
	label, known := b.names[n.Label]
	if !known {
		label = strings.Clone(n.Label)
		b.names[label] = label
	}
	id := strings.Clone(n.ID)
	b.index[id] = int32(len(b.ids))
	b.ids = append(b.ids, id)
	b.places = append(b.places, n.At)
	b.labels = append(b.labels, label)
	b.split = append(b.split, n.Split)
	if b.settings.Time != "" {
		b.times = append(b.times, n.Time)
	}
	b.x = append(b.x, n.Features...)
	return nil
}

// addEdge takes an edge between two nodes that were added before. It has no direction: the other direction and
// repetitions are merged with it. Self-loops are dropped and counted.
func (b *builder) addEdge(source, target, kind string, weight float32) error {
	i, from := b.index[source]
	j, to := b.index[target]
	switch {
	case (!from || !to) && b.settings.DropUnknown:
		b.unknown++
		return nil
	case !from:
		return b.dangling(cmp.Or(b.settings.Source, "source"), source)
	case !to:
		return b.dangling(cmp.Or(b.settings.Target, "target"), target)
	}
	if i == j {
		b.loops++
		return nil
	}
	if weight != 1 && b.weights == nil {
		b.weights = slices.Repeat([]float32{1}, len(b.edges))
	}
	if b.edges = append(b.edges, [2]int32{i, j}); b.weights != nil {
		b.weights = append(b.weights, weight)
	}
	if b.settings.EdgeType != "" {
		name, known := b.names[kind]
		if !known {
			name = strings.Clone(kind)
			b.names[name] = name
		}
		b.kinds = append(b.kinds, name)
	}
	return nil
}

// dangling returns the error of an edge to an id that no node has.
func (b *builder) dangling(column, id string) error {
	hint := ""
	if v, err := strconv.ParseFloat(id, 64); err == nil {
		for _, other := range []string{strconv.FormatFloat(v, 'f', -1, 64), strconv.FormatFloat(v, 'f', 1, 64)} {
			if _, ok := b.index[other]; ok {
				hint = fmt.Sprintf(", but %q is: write the ids of both tables in one form, as integers or text", other)
			}
		}
	}
	return table.Fault{
		Kind: table.Dangling,
		Err:  fmt.Errorf("column %s: %.100q is not the id of a node%s", column, id, hint),
	}
}

// readTables reads a data set of two tables. Features have positions if the settings say so, or if they may have and
// all are numbers; otherwise names.
func readTables(t sources, mayBePositional bool, o OpenOptions) (*Dataset, error) {
	if o.Tables.Features != "" {
		return keepRows(t, true, o)
	}
	try := mayBePositional || o.Tables.Positional
	if try && o.Faults == nil {
		d, err := keepRows(t, true, o)
		if o.Tables.Positional || !errors.Is(err, table.ErrNoNumber) {
			return d, err
		}
	}
	d, err := keepRows(t, false, o)
	if err == nil && try && o.Faults != nil && len(o.Faults.Kinds) == 0 {
		// Faults are collected no more, so that the notes are the same as without them.
		o.Faults = nil
		positional, err := keepRows(t, true, o)
		switch {
		case err == nil:
			d.Notes = positional.Notes
		case o.Tables.Positional || !errors.Is(err, table.ErrNoNumber):
			return d, err
		}
	}
	return d, err
}

// keepRows reads two tables row by row and keeps the rows.
func keepRows(t sources, positional bool, o OpenOptions) (*Dataset, error) {
	s, err := table.NewStream(t.name, t.nodes, t.edges, o.Tables, positional)
	if err != nil {
		return nil, err
	}
	s.Faults = o.Faults
	b := &builder{
		settings: o.Tables,
		width:    s.Features,
		faults:   o.Faults,
		index:    map[string]int32{},
		names:    map[string]string{},
	}
	each := s.EachNamed
	if positional {
		each = s.EachNode
	}
	if err := each(b.addNode); err != nil {
		return nil, err
	}
	if err := s.CheckSpans(); err != nil {
		return nil, err
	}
	if err := s.EachEdge(func(e table.Edge) error {
		return b.faults.Take(b.addEdge(e.Source, e.Target, e.Type, e.Weight), e.At)
	}); err != nil {
		return nil, err
	}
	if len(b.ids) == 0 {
		return nil, errors.New("there are no nodes")
	}
	d := &Dataset{Name: t.name, IDs: b.ids, Columns: s.Columns(), Times: b.times}
	if d.Task, err = target.Parse(o.Tables.Task); err != nil {
		return nil, err
	}
	if err := d.checkMagnitudes(); err != nil {
		return nil, err
	}
	if !positional {
		d.Dropped = s.Dropped()
	}
	if o.Tables.Features != "" {
		long, err := s.ReadLong(t.features, b.index, o.Tables.Features, checkMagnitude)
		if err != nil {
			return nil, err
		}
		d.X.Sparse = &graph.CSR{
			Rows:   len(b.ids),
			Cols:   len(long.Names),
			RowPtr: long.Rows,
			ColIdx: long.Number,
			Val:    long.Value,
		}
		d.X.Sparse.DropOnes()
		d.BagOfWords = true
		d.note(
			"Features by position, in the order of their names: %d, such as %s.",
			len(long.Names),
			strings.Join(long.Names[:min(len(long.Names), 3)], ", "),
		)
	} else if positional {
		d.X.Dense = &graph.Dense{Rows: len(b.ids), Cols: b.width, Data: b.x}
	}
	b.index, b.places = nil, nil
	if err := b.checkWeights(); err != nil {
		return nil, err
	}
	d.Adj = weighted(d, len(b.ids), b.edges, b.weights, b.loops)
	if o.Tables.Directed || o.Tables.EdgeType != "" {
		if err := d.keepRelations(len(b.ids), b.edges, b.weights, b.kinds, o.Tables); err != nil {
			return nil, err
		}
	}
	if err := d.checkDegrees(); err != nil {
		return nil, err
	}
	b.edges, b.weights, b.kinds = nil, nil, nil
	if n := s.DroppedWeights(); n > 0 {
		d.note("Weights of edges were dropped: %d were not 1.", n)
	}
	if b.unknown > 0 {
		d.note("%d edges to or from ids that no node has were dropped.", b.unknown)
	}
	if kept := d.Adj.NNZ() / 2; b.unknown > 0 && kept == 0 {
		return nil, fmt.Errorf(
			"all %d edges are to or from ids that no node has: are the ids of both tables written in one form?",
			b.unknown,
		)
	} else if b.unknown > kept {
		d.suspect("more edges are to or from ids that no node has, %d, than between nodes, %d: are both tables of one graph?",
			b.unknown, kept)
	} else if kept == 0 {
		d.suspect("the graph has no edge.")
	}
	if err := b.labelled(d); err != nil {
		return nil, err
	}
	if err := b.roles(d, s.HasSplit(), o.SplitSeed); err != nil {
		return nil, err
	}
	d.takeTypes(s.ColumnTypes())
	if err := d.labelForm().check(b, d); err != nil {
		return nil, err
	}
	d.Notes = append(d.Notes, s.Notes()...)
	return d, nil
}

// checkWeights refuses times and row numbers for weights, unless a setting names their column.
func (b *builder) checkWeights() error {
	if b.settings.Weight != "" || b.weights == nil {
		return nil
	}
	var of table.Trend
	for _, w := range b.weights {
		of.See(float64(w))
	}
	if why := of.NoWeight(); why != "" {
		return fmt.Errorf("column weight: it %s, and nobody says that these are weights: --weight weight takes them, "+
			"--drop-weights reads each as 1", why)
	}
	return nil
}

// roles gives the nodes their roles; without a split it is drawn.
func (b *builder) roles(d *Dataset, split bool, seed uint64) error {
	if !split {
		return d.drawSplit(seed)
	}
	err := d.takeRoles(b.split)
	if withheld := len(d.Withheld()); d.Columns != nil && withheld > 0 {
		d.note("%d nodes have a label and no split: they are in no role, and left out.", withheld)
	}
	return b.faults.Take(err, table.Place{})
}

// labelled sets the labels of the nodes.
func (b *builder) labelled(d *Dataset) error {
	for i := range b.labels {
		if b.split[i] == "unlabelled" {
			b.labels[i] = ""
		}
	}
	return d.labelForm().read(b, d)
}

// oneClass reads the labels of nodes as classes.
func (b *builder) oneClass(d *Dataset) error {
	d.Labels, d.Classes = numbered(b.labels)
	column := cmp.Or(b.settings.Label, "label")
	if len(d.Classes) == 0 {
		return fmt.Errorf("column %s: no node has a label", column)
	}
	if mark, with := table.SeveralLabels(d.Classes); mark != "" && b.settings.Task == "" {
		d.suspect("column %s: %q stands in %d of %d classes: if they are several labels, --task labels --label-mark %q "+
			"reads "+
			"them; --task classes says that each is a class.", column, mark, with, len(d.Classes), mark)
	}
	return d.checkClasses(column)
}

// undirected builds the adjacency matrix of undirected edges and notes how many were merged or dropped.
func undirected(d *Dataset, n int, edges [][2]int32, loops int) *graph.CSR {
	adj := graph.Symmetric(n, edges)
	adj.SortRows() // a pattern: repetitions become one entry
	d.noteMerged(len(edges), adj, loops)
	return adj
}

// noteMerged notes the differences between so many edges that were read and the graph.
func (d *Dataset) noteMerged(edges int, adj *graph.CSR, loops int) {
	if loops > 0 {
		d.note("%d self-loops were dropped: a model adds its own.", loops)
	}
	if merged := edges - adj.NNZ()/2; merged > 0 {
		d.note("%d of %d edges were merged with one that is the same or its other direction.", merged, edges)
	}
}

func (d *Dataset) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}
