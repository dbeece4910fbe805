package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"rivulet/dataset/literal"
)

// Open finds the tables of nodes and edges that the settings name, as [NewStream] reads them.
func (t Settings) Open(kinds []Kind) (nodes, edges Source, err error) {
	var errNodes, errEdges error
	edges, errEdges = t.openEdges(kinds)
	switch {
	case t.NodeTables() != nil || t.Ends != "" && t.Nodes == "":
		nodes, errNodes = TypedNodes(t, kinds, edges)
	case t.Nodes == "":
		nodes = t.nodesOf(edges, nil)
	default:
		nodes, errNodes = Named(string(t.Nodes), kinds, t.TextForm)
	}
	if err := errors.Join(errNodes, errEdges); err != nil {
		return nodes, edges, err
	}
	return t.Complete(nodes, edges, kinds)
}

// Complete adds to the tables of nodes and edges what the settings say beside their files: the names of columns that
// differ from file to file, labels in a table of their own, and the degree. A file of both nodes and edges is divided.
func (t Settings) Complete(nodes, edges Source, kinds []Kind) (Source, Source, error) {
	if string(t.Nodes) == t.Edges && t.Edges != "" {
		nodes, edges = nodes.with(func(f File) (File, error) { return having(f, pick(f.Columns(), cmp.Or(t.ID, "id"))) }),
			edges.with(func(f File) (File, error) { return having(f, pick(f.Columns(), cmp.Or(t.Source, "source"))) })
	}
	edges = edges.with(renamed(t.Source, t.Target))
	nodes = nodes.with(renamed(t.ID))
	if t.LabelTable != "" {
		labels, err := Named(t.LabelTable, kinds, t.TextForm)
		if err != nil {
			return nodes, edges, err
		}
		nodes = nodes.with(t.withLabels(labels))
	}
	if t.Degree {
		nodes = nodes.with(t.withDegree(edges))
	}
	return nodes, edges, nil
}

// with returns the source with its files seen through a function.
func (s Source) with(see func(File) (File, error)) Source {
	open := s.open
	s.open = func(f *os.File, name string, size int64, form TextForm, use func(File) error) error {
		return open(f, name, size, form, func(t File) error {
			t, err := see(t)
			if err != nil {
				return err
			}
			return use(t)
		})
	}
	return s
}

// pick returns the column that a setting names. The setting may be several names with commas between, of which a file
// has one; empty: the file has none.
func pick(names []string, said string) string {
	for _, name := range append([]string{said}, strings.Split(said, ",")...) {
		if name = strings.TrimSpace(name); slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// renamed names columns as the settings do that have several names for them.
func renamed(said ...string) func(File) (File, error) {
	return func(f File) (File, error) {
		names := slices.Clone(f.Columns())
		for _, all := range said {
			if own := pick(names, all); own != "" {
				names[slices.Index(names, own)] = all
			}
		}
		if slices.Equal(names, f.Columns()) {
			return f, nil
		}
		return &named{f, names}, nil
	}
}

// named is a file with other names of its columns.
type named struct {
	File
	names []string
}

func (n *named) Columns() []string { return n.names }

// having leaves out the rows in which a column is missing.
func having(f File, column string) (File, error) {
	at := slices.Index(f.Columns(), column)
	if at < 0 {
		return f, nil // the plan of columns says that it is missing
	}
	return &filtered{f, at}, nil
}

type filtered struct {
	File
	column int
}

func (f *filtered) Each(columns []int, use func(cells []Cell, at Place) error) error {
	return f.File.Each(append(slices.Clone(columns), f.column), func(cells []Cell, at Place) error {
		if last := len(cells) - 1; cells[last].missing() {
			return nil
		}
		return use(cells[:len(cells)-1], at)
	})
}

// changed is a file some of whose columns are changed as they are read.
type changed struct {
	File
	change map[int]func(*Cell) error
}

func (c *changed) Each(columns []int, use func(cells []Cell, at Place) error) error {
	own := make([]Cell, len(columns))
	return c.File.Each(columns, func(cells []Cell, at Place) error {
		copy(own, cells)
		for k, column := range columns {
			if change := c.change[column]; change != nil {
				if err := change(&own[k]); err != nil {
					return fmt.Errorf("column %s: %w", c.Columns()[column], err)
				}
			}
		}
		return use(own, at)
	})
}

// ofType writes the type of a node before its id: user:5.
func ofType(kind string) func(*Cell) error {
	return func(c *Cell) error {
		if c.missing() {
			return nil
		}
		id, err := c.id()
		*c = Cell{Kind: Raw, Text: kind + ":" + id}
		return err
	}
}

// id returns an id as text in one form, whichever program wrote it: 17 of 17.0.
func (c *Cell) id() (string, error) {
	text, err := c.text()
	if err != nil || c.Kind != Raw {
		return text, err
	}
	text = strings.TrimSpace(text)
	if v, err := literal.Number(text, false); err == nil && strings.ContainsAny(text, ".eE") && v == math.Trunc(v) {
		return decimal(v)
	}
	return text, nil
}

// added is a file with a column more, which follows from another.
type added struct {
	File
	names []string
	from  int
	value func(id string) Cell
}

func add(f File, name, from string, value func(id string) Cell) (File, error) {
	if slices.Contains(f.Columns(), name) {
		return nil, fmt.Errorf("there is a column %s already among %s", name, listed(f.Columns()))
	}
	at := slices.Index(f.Columns(), from)
	if at < 0 {
		return f, nil // the plan of columns says that it is missing
	}
	return &added{f, append(slices.Clone(f.Columns()), name), at, value}, nil
}

func (a *added) Columns() []string { return a.names }

func (a *added) Categorical(column int) bool {
	return column < len(a.names)-1 && a.File.Categorical(column)
}

func (a *added) Each(columns []int, use func(cells []Cell, at Place) error) error {
	last := len(a.names) - 1
	var inner []int
	for _, c := range columns {
		if c != last {
			inner = append(inner, c)
		}
	}
	own := make([]Cell, len(columns))
	return a.File.Each(append(inner, a.from), func(cells []Cell, at Place) error {
		k := 0
		for i, c := range columns {
			if c == last {
				id, err := cells[len(cells)-1].id()
				if err != nil {
					return fmt.Errorf("column %s: %w", a.names[a.from], err)
				}
				own[i] = a.value(id)
				continue
			}
			own[i] = cells[k]
			k++
		}
		return use(own, at)
	})
}

// withLabels adds the column of labels from a table of their own.
func (t Settings) withLabels(labels Source) func(File) (File, error) {
	name := cmp.Or(t.Label, "label")
	read := sync.OnceValues(func() (map[string]Cell, error) { return t.readLabels(labels) })
	return func(f File) (File, error) {
		of, err := read()
		if err != nil {
			return nil, fmt.Errorf("the table of labels %s: %w", t.LabelTable, err)
		}
		return add(f, name, cmp.Or(t.ID, "id"), func(id string) Cell { return of[id] })
	}
}

// readLabels reads a table of ids and labels.
func (t Settings) readLabels(labels Source) (map[string]Cell, error) {
	of := map[string]Cell{}
	return of, labels.Each(func(f File) error {
		names := f.Columns()
		id := cmp.Or(pick(names, cmp.Or(t.ID, "id")), names[0])
		label := pick(names, cmp.Or(t.Label, "label"))
		if label == "" && len(names) == 2 {
			label = names[1-slices.Index(names, id)]
		}
		if label == "" || label == id {
			return fmt.Errorf("no column %s among %s: say which column is the label", cmp.Or(t.Label, "label"), listed(names))
		}
		return f.Each([]int{slices.Index(names, id), slices.Index(names, label)}, func(cells []Cell, at Place) error {
			id, err := cells[0].id()
			if err != nil {
				return fmt.Errorf("column id: %w", err)
			}
			if _, twice := of[id]; twice {
				return fmt.Errorf("%.100q has a label already", id)
			}
			cell := cells[1]
			cell.Text, cell.List = strings.Clone(cell.Text), slices.Clone(cell.List)
			of[strings.Clone(id)] = cell
			return nil
		})
	})
}

// DegreeColumn is the column that [Settings.Degree] adds.
const DegreeColumn = "degree"

// withDegree adds the number of each node's neighbours in the table of edges.
func (t Settings) withDegree(edges Source) func(File) (File, error) {
	read := sync.OnceValues(func() (map[string]int, error) {
		near := map[string][]string{}
		names := map[string]string{} // one copy of each
		err := t.eachEnds(edges, func(ends [2]string) {
			for k, id := range ends {
				if _, known := names[id]; !known {
					id = strings.Clone(id)
					names[id] = id
				}
				ends[k] = names[id]
			}
			if ends[0] != ends[1] {
				near[ends[0]], near[ends[1]] = append(near[ends[0]], ends[1]), append(near[ends[1]], ends[0])
			}
		})
		degrees := make(map[string]int, len(near))
		for id, others := range near {
			slices.Sort(others)
			degrees[id] = len(slices.Compact(others))
		}
		return degrees, err
	})
	return func(f File) (File, error) {
		degrees, err := read()
		if err != nil {
			return nil, fmt.Errorf("counting the neighbours of nodes: %w", err)
		}
		return add(f, DegreeColumn, cmp.Or(t.ID, "id"), func(id string) Cell {
			return Cell{Kind: Int, Int: int64(degrees[id])}
		})
	}
}

// eachEnds calls use with the ids at the ends of each edge that has both.
func (t Settings) eachEnds(edges Source, use func(ends [2]string)) error {
	return edges.Each(func(f File) error {
		plan, err := t.planEdges(f.Columns())
		if err != nil {
			return err
		}
		return f.Each([]int{plan.source, plan.target}, func(cells []Cell, _ Place) (err error) {
			var ends [2]string
			for k := range ends {
				if cells[k].missing() {
					return nil
				}
				if ends[k], err = cells[k].id(); err != nil {
					return err
				}
			}
			use(ends)
			return nil
		})
	})
}

// openEdges finds the tables of edges, several of them as one.
func (t Settings) openEdges(kinds []Kind) (Source, error) {
	paths := t.EdgeTables()
	ends, err := t.EndTypes()
	if err != nil {
		return Source{}, err
	}
	if len(paths) == 1 {
		s, err := Named(paths[0], kinds, t.TextForm)
		if err != nil || ends == nil {
			return s, err
		}
		return s.with(t.typedEnds(ends[0])), nil
	}
	out := Source{form: t.TextForm}
	opens := map[string]Opener{}
	names := []string{cmp.Or(t.Source, "source"), cmp.Or(t.Target, "target")}
	if weight, err := t.weightOf(paths, kinds); err != nil {
		return out, err
	} else if weight != "" {
		names = append(names, weight)
	}
	weights := len(names)
	if t.EdgeType != "" {
		names = append(names, t.EdgeType)
	}
	for k, path := range paths {
		s, err := Named(path, kinds, t.TextForm)
		if err != nil {
			return out, err
		}
		s = s.with(renamed(t.Source, t.Target))
		if ends != nil {
			s = s.with(t.typedEnds(ends[min(k, len(ends)-1)]))
		}
		s = s.with(func(f File) (File, error) { return t.onlyEdges(f, names, weights) })
		for _, file := range s.Paths() {
			if opens[file] != nil {
				return out, fmt.Errorf("edges: %s is named twice", file)
			}
			opens[file] = s.open
		}
		out.Files = append(out.Files, s.Paths()...)
	}
	out.open = func(f *os.File, name string, size int64, form TextForm, use func(File) error) error {
		return opens[name](f, name, size, form, use)
	}
	return out, nil
}

// weightOf returns the column of weights that some of several tables has; empty: none has.
func (t Settings) weightOf(paths []string, kinds []Kind) (string, error) {
	name := cmp.Or(t.Weight, "weight")
	for _, path := range paths {
		s, err := Named(path, kinds, t.TextForm)
		if err != nil {
			return "", err
		}
		if names, _, err := s.Columns(); err != nil || slices.Contains(names, name) {
			return name, err
		}
	}
	return t.Weight, nil
}

// onlyEdges shows the columns of a table of edges that have a meaning. A table without weights has the weight 1.
func (t Settings) onlyEdges(f File, names []string, weights int) (File, error) {
	bare := t // its weight may be in another of the tables
	bare.Weight = ""
	if _, err := bare.planEdges(f.Columns()); err != nil {
		return nil, err
	}
	v := &view{File: f, names: names, values: make([]Cell, len(names))}
	for k, name := range names {
		v.from = append(v.from, slices.Index(f.Columns(), name))
		if v.values[k] = (Cell{}); k == weights-1 && k > 1 {
			v.values[k] = Cell{Kind: Int, Int: 1}
		}
	}
	return v, nil
}

// typedEnds writes the types of nodes before the ids at the ends of edges.
func (t Settings) typedEnds(types [2]string) func(File) (File, error) {
	return func(f File) (File, error) {
		change := map[int]func(*Cell) error{}
		for k, said := range []string{cmp.Or(t.Source, "source"), cmp.Or(t.Target, "target")} {
			if i := slices.Index(f.Columns(), pick(f.Columns(), said)); i >= 0 {
				change[i] = ofType(types[k])
			}
		}
		return &changed{f, change}, nil
	}
}

// EdgeTables returns the paths of the tables of edges.
func (t Settings) EdgeTables() (paths []string) {
	if _, err := os.Stat(t.Edges); err == nil { // its name may have a comma
		return []string{t.Edges}
	}
	for path := range strings.SplitSeq(t.Edges, ",") {
		paths = append(paths, strings.TrimSpace(path))
	}
	return paths
}

// EndTypes returns the types of nodes at the source and the target of edges, of all tables or of each; nil: ids are
// distinct over all types.
func (t Settings) EndTypes() (types [][2]string, err error) {
	if t.Ends == "" {
		return nil, nil
	}
	for pair := range strings.SplitSeq(t.Ends, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(pair), ":")
		if !ok || from == "" || to == "" || strings.ContainsAny(from+to, ":=./\\") {
			return nil, fmt.Errorf("ends is %.100q, want the types of the source and the target, such as user:item", t.Ends)
		}
		types = append(types, [2]string{from, to})
	}
	if n := len(t.EdgeTables()); len(types) != 1 && len(types) != n {
		return nil, fmt.Errorf("ends %.100q has %d pairs of types for %d tables of edges: want one, or one for each", t.Ends,
			len(types), n)
	}
	return types, nil
}

// nodesOf finds the nodes of the ends of edges that have no table: those of some types, or all where nodes have no
// types.
func (t Settings) nodesOf(edges Source, types []string) Source {
	return Source{Dir: edges.Dir, Files: edges.Files[:1], form: t.TextForm,
		open: func(_ *os.File, _ string, _ int64, _ TextForm, use func(File) error) error {
			return use(&endNodes{settings: t, edges: edges, types: types})
		}}
}

// endNodes are the nodes at the ends of edges, each once: their type, if they have types, and id.
type endNodes struct {
	settings Settings
	edges    Source
	types    []string
}

func (e *endNodes) Columns() []string {
	names := []string{cmp.Or(e.settings.ID, "id")}
	if e.types != nil {
		names = append(names, NodeType)
	}
	return names
}

func (e *endNodes) Categorical(int) bool { return false }

func (e *endNodes) Guess() string { return "" }

func (e *endNodes) Doubt() string { return "" }

func (e *endNodes) Each(columns []int, use func(cells []Cell, at Place) error) error {
	known := map[string]bool{}
	cells := make([]Cell, len(columns))
	var failed error
	take := func(id string) {
		kind, _, _ := strings.Cut(id, ":")
		if failed != nil || known[id] || e.types != nil && !slices.Contains(e.types, kind) {
			return
		}
		id = strings.Clone(id)
		known[id] = true
		for k, column := range columns {
			if cells[k] = (Cell{Kind: Raw, Text: id}); column == 1 {
				cells[k] = Cell{Kind: Text, Text: kind}
			}
		}
		failed = use(cells, Place{e.edges.Files[0], "node", len(known)})
	}
	err := e.settings.eachEnds(e.edges, func(ends [2]string) {
		take(ends[0])
		take(ends[1])
	})
	return errors.Join(err, failed)
}

// checkEnds returns an error for settings that do not go with the types of ends, or with nodes that have no table.
func (t Settings) checkEnds() error {
	if _, err := t.EndTypes(); err != nil {
		return err
	}
	switch {
	case t.Ends != "" && t.Nodes != "" && t.NodeTables() == nil:
		return fmt.Errorf("ends is %s, and the table of nodes has no type: want the type before its path, user=%s", t.Ends,
			t.Nodes)
	case t.Ends != "" && t.LabelTable != "":
		return errors.New("ends writes types before ids, and a table of labels (label_table) has ids without them: " +
			"give its " +
			"column to the table of nodes")
	case t.Nodes == "" && t.Edges != "" && t.Ends == "" && t.HasLabels():
		return errors.New("want nodes and edges: the files of the two tables; without nodes only task links is learned")
	}
	return nil
}
