package table

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Found is the result of [Find]: settings, and lines for people.
type Found struct {
	Settings Settings
	// Files says of each file of the directory what it is used as, or why it is left out.
	Files []string
	// Columns describes the columns of nodes.
	Columns []string
	// Guesses describe guesses that a person should check.
	Guesses []string
	// Questions are open. As long as there are some, Settings are not complete.
	Questions []Question

	given     Settings // by a person
	dir       string
	kinds     []Kind
	inventory *inventory
	kind      string // type of the one table of nodes, if it is said: movie=movies.csv
}

// Question is an open question, and the flags that answer it.
type Question struct{ Text, Answer string }

// Find looks for the tables of a directory, unless s names them, and for the meaning of their columns. It is the one
// place that guesses: a guess is said, and where a wrong one would change what is learned, it is a question.
func Find(dir string, s Settings, kinds []Kind) (*Found, error) {
	f := &Found{Settings: s, given: s, dir: dir, kinds: kinds}
	if one := namedTable.FindStringSubmatch(string(s.Nodes)); one != nil && s.NodeTables() == nil {
		if _, err := os.Stat(string(s.Nodes)); err != nil {
			f.kind, f.Settings.Nodes = one[1], NodesPath(one[2])
		}
	}
	if err := errors.Join(f.Settings.checkNodeTables(), f.look()); err != nil {
		return nil, err
	}
	if len(f.inventory.tables) == 0 && len(f.inventory.others) > 0 {
		return nil, fmt.Errorf("%s has no table that this program reads: %s", dir, strings.Join(Most(f.inventory.others),
			"; "))
	}
	edges := f.chooseEdges()
	f.chooseNodes(edges)
	f.doubts()
	f.list()
	if len(f.Questions) > 0 && (f.Settings.Edges == "" || !f.hasNodes()) {
		return f, nil
	}
	return f, f.meaning()
}

// look reads the tables of the directory, and those that the settings name.
func (f *Found) look() (err error) {
	t := &f.Settings
	paths := []string{t.LabelTable, t.Features}
	for _, of := range t.NodeTables() {
		paths = append(paths, of.Path)
	}
	if t.NodeTables() == nil {
		paths = append(paths, string(t.Nodes))
	}
	paths = append(paths, t.EdgeTables()...)
	if f.inventory, err = take(f.dir, paths, f.kinds, t.TextForm, t.Decimal == ","); err != nil {
		return err
	}
	if f.inventory.bytes && t.Encoding == "" {
		t.Encoding = "latin1"
		f.guessed("encoding: latin1 is a guess, because some text is not UTF-8")
		return f.look()
	}
	return nil
}

func (f *Found) guessed(format string, args ...any) {
	f.Guesses = append(f.Guesses, fmt.Sprintf(format, args...))
}

func (f *Found) ask(answer, format string, args ...any) {
	q := Question{fmt.Sprintf(format, args...), answer}
	if !slices.Contains(f.Questions, q) {
		f.Questions = append(f.Questions, q)
	}
}

// at returns the table with a path.
func (f *Found) at(path string) *candidate {
	for _, c := range f.inventory.tables {
		if filepath.Clean(c.path) == filepath.Clean(path) {
			return c
		}
	}
	return nil
}

// hasNodes reports whether it is known which tables are nodes, or that there is none.
func (f *Found) hasNodes() bool {
	return f.Settings.Nodes != "" || f.Settings.Ends != "" || !f.Settings.HasLabels()
}

// chooseEdges finds the tables of edges.
func (f *Found) chooseEdges() (edges []*candidate) {
	t := &f.Settings
	if t.Edges != "" {
		for _, path := range t.EdgeTables() {
			c := f.at(path)
			f.asEdges(c)
			edges = append(edges, c)
		}
		return edges
	}
	var rest []*candidate
	for _, c := range f.inventory.tables {
		if c.path == string(t.Nodes) && !f.hasBoth(c) || c.path == t.LabelTable || c.path == t.Features ||
			slices.ContainsFunc(t.NodeTables(), func(of NodeTable) bool { return of.Path == c.path }) {
			continue
		}
		if f.isEdges(c) {
			edges = append(edges, c)
		} else {
			rest = append(rest, c)
		}
	}
	if len(edges) == 0 {
		edges = f.byValues(rest)
	}
	edges = withoutLists(edges)
	switch {
	case len(edges) == 0:
		f.ask("--edges FILE, with --source COLUMN --target COLUMN", "no table has two columns of the ends of edges")
		return nil
	case len(edges) > 1:
		var names, paths []string
		for _, c := range edges {
			names, paths = append(names, c.base), append(paths, c.path)
		}
		f.ask("--edges "+strings.Join(paths, ",")+" takes all, --edges "+paths[0]+" one of them",
			"%s are %d tables of edges: which are used?", strings.Join(names, ", "), len(names))
		t.Edges = strings.Join(paths, ",") // for the questions that follow
		for _, c := range edges {
			f.asEdges(c)
			c.use = "edges, which is asked about"
		}
		return edges
	}
	if t.Edges = edges[0].path; !matchesExactly(edges[0].base, usualEdges) {
		f.guessed("edges: the table %s is a guess by its columns", edges[0].base)
	}
	f.asEdges(edges[0])
	return edges
}

// withoutLists leaves out tables of a few pairs beside a large table of edges, such as names and their numbers.
func withoutLists(edges []*candidate) []*candidate {
	const share = 20
	if len(edges) < 2 {
		return edges
	}
	most := slices.MaxFunc(edges, func(a, b *candidate) int { return cmp.Compare(a.rows, b.rows) })
	return slices.DeleteFunc(edges, func(c *candidate) bool {
		list := c.bare && c.rows < fewRows && share*c.rows < most.rows && !matchesFile(c.base, usualEdges)
		if list {
			c.why = fmt.Sprintf("its %d rows of two columns are hardly edges beside the %d rows of %s", c.rows, most.rows,
				most.base)
		}
		return list
	})
}

// hasBoth reports whether a table has rows of nodes, which have an id, and rows of edges, which have ends.
func (f *Found) hasBoth(c *candidate) bool {
	from, to, how := c.ends(f.given)
	id := usualOf(c.names, usualIDs)
	if how != "by their names" || id == "" || id == from || id == to {
		return false
	}
	ids, ends := c.column(id), c.column(from)
	return ids.nulls > 0 && ends.nulls > 0 && !ids.repeat && ids.nulls+ends.nulls == c.rows
}

// isEdges reports whether a table is one of edges, by the names of its columns or, without a line of names, their
// place.
func (f *Found) isEdges(c *candidate) bool {
	from, _, how := c.ends(f.given)
	id := c.idColumn(f.given.ID)
	switch {
	case how == "":
		return false
	case f.hasBoth(c), id == "", f.given.Source != "" && how == "by their names":
		return true
	case c.bare:
		return c.pairs()
	}
	byName := matchesFile(c.base, usualNodes) && !matchesFile(c.base, usualEdges)
	return !byName && !slices.Contains(things, entity(from))
}

// byValues finds the tables two of whose columns have the ids of another table.
func (f *Found) byValues(tables []*candidate) (edges []*candidate) {
	for _, c := range tables {
		for _, other := range tables {
			if id := other.idColumn(f.given.ID); other != c && id != "" {
				if from, _ := c.endsByValues(other.column(id)); from != "" {
					edges = append(edges, c)
					break
				}
			}
		}
	}
	return edges
}

// asEdges takes a table for one of edges, and finds its ends.
func (f *Found) asEdges(c *candidate) {
	t := &f.Settings
	c.use = "edges"
	if c.bare && (isNumber(f.given.Source) || isNumber(f.given.Target)) {
		f.number(c)
	}
	from, to, how := c.ends(f.given)
	if how != "by their names" && c.names[0] != "source" { // else it is read as an edge list
		for _, other := range f.inventory.tables {
			if id := other.idColumn(f.given.ID); other != c && id != "" && f.given.Source == "" && f.given.Target == "" {
				if a, b := c.endsByValues(other.column(id)); a != "" && !(c.bare && a == c.names[0] && b == c.names[1]) {
					from, to, how = a, b, "by its values, ids of "+other.base
					break
				}
			}
		}
	}
	if c.bare && how == "by their place" && len(c.names) > 2 && c.columns[0].trend.Counts() {
		f.ask("--source 1 --target 2, or --source 0 --target 1 if they are ids", "%s: its first column %s: it is "+
			"hardly an end of edges", c.base, c.columns[0].trend.NoWeight())
	}
	if from == "" || to == "" {
		f.ask("--source COLUMN --target COLUMN", "%s: no column is named %s, or no other %s: say which columns are the "+
			"ends of "+
			"edges (--source, --target), among %s", c.base, strings.Join(usualSources[:4], ", "),
			strings.Join(usualTargets[:4], ", "), listed(c.names))
		return
	}
	if c.from, c.to = from, to; c.bare && from == "source" && to == "target" { // as the reader names them
		how = ""
	}
	if c.bare && how != "" {
		i, j := slices.Index(c.names, from), slices.Index(c.names, to)
		f.number(c)
		from, to = c.names[i], c.names[j]
		c.from, c.to = from, to
	}
	f.alternative(&t.Source, from, "source", how)
	f.alternative(&t.Target, to, "target", how)
}

// alternative adds the name of a column to those that a setting has.
func (f *Found) alternative(said *string, name, what, how string) {
	switch {
	case *said == "" && name == what:
		*said = name
		return
	case *said != "" && slices.Contains(strings.Split(*said, ","), name):
		return
	case *said == "":
		*said = name
	default:
		*said += "," + name
	}
	of := strings.NewReplacer("their names", "its name", "their", "its")
	f.guessed("%s: %s is a guess %s", what, name, of.Replace(how))
}

// number names the columns of a table without a line of names by numbers, and says so in the settings.
func (f *Found) number(c *candidate) {
	if f.Settings.Header[c.base] == "none" && c.names[0] == "0" {
		return
	}
	if f.Settings.Header == nil {
		f.Settings.Header = map[string]string{}
	} else {
		f.Settings.Header = maps.Clone(f.Settings.Header)
	}
	f.Settings.Header[c.base] = "none"
	for k := range c.names {
		c.names[k] = strconv.Itoa(k)
		c.columns[k].name = c.names[k]
	}
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// matchesFile reports whether the name of a file has one of the names of tables.
func matchesFile(base string, usual []string) bool {
	return slices.ContainsFunc(usual, func(name string) bool { return strings.Contains(strings.ToLower(base), name) })
}

// matchesExactly reports whether the name of a file, up to its first point, is one of the names of tables.
func matchesExactly(base string, usual []string) bool {
	name, _, _ := strings.Cut(strings.ToLower(base), ".")
	return slices.Contains(usual, name)
}

// typeName is the type of the nodes in a table: the name of its file up to the first point or, where another file has
// the same, what follows the last.
func (f *Found) typeName(c *candidate) string {
	name, _, _ := strings.Cut(c.base, ".")
	for _, other := range f.inventory.tables {
		if of, _, _ := strings.Cut(other.base, "."); other != c && of == name {
			return strings.TrimPrefix(filepath.Ext(c.base), ".")
		}
	}
	return name
}

// chooseNodes finds the tables of nodes, of labels, and the types that tell their ids apart.
func (f *Found) chooseNodes(edges []*candidate) {
	t := &f.Settings
	var all []*candidate
	for _, c := range f.inventory.tables {
		said := c.path == string(t.Nodes) || slices.ContainsFunc(t.NodeTables(), func(of NodeTable) bool {
			return of.Path == c.path
		})
		if c.use != "" && !f.hasBoth(c) || c.path == t.LabelTable || c.path == t.Features || c.why != "" && !said {
			continue
		}
		if c.id = c.idColumn(f.given.ID); f.hasBoth(c) && pick(c.names, t.ID) == "" {
			c.id = usualOf(c.names, usualIDs)
		}
		all = append(all, c)
	}
	if t.Features != "" {
		f.at(t.Features).use = "features"
	}
	if t.LabelTable != "" {
		f.asLabels(f.at(t.LabelTable))
	}
	switch {
	case t.NodeTables() != nil:
		for _, of := range t.NodeTables() {
			f.asNodes(f.at(of.Path), of.Type)
		}
		return
	case t.Nodes != "":
		one := f.at(string(t.Nodes))
		if t.Ends != "" {
			f.typed([]*candidate{one})
			return
		}
		f.asNodes(one, "")
		f.apart([]*candidate{one}, edges)
		f.addLabels(one, all)
		return
	case t.Ends != "":
		f.typed(all)
		return
	}
	var met []*candidate
	for _, c := range all {
		switch {
		case c.id == "":
			c.why = "no column has a value of its own in each row, as ids have, and no two are the ends of edges"
		case edges != nil && !c.meets(edges):
			c.why = fmt.Sprintf("none of its ids (column %s) is an end of an edge", c.id)
		default:
			met = append(met, c)
		}
	}
	if len(met) == 0 {
		f.withoutNodes(all, edges)
		return
	}
	f.chooseTypes(met, edges)
}

// withoutNodes takes a table for the nodes although no edge has its ids, or the ends of edges for the nodes.
func (f *Found) withoutNodes(all, edges []*candidate) {
	t := &f.Settings
	for _, c := range all {
		if matchesExactly(c.base, usualNodes) || edges == nil || len(all) == 1 && t.HasLabels() {
			if t.Nodes = NodesPath(c.path); !matchesExactly(c.base, usualNodes) {
				f.guessed("nodes: the table %s is a guess by its name", c.base)
			}
			f.asNodes(c, "")
			return
		}
	}
	if !t.HasLabels() && edges != nil {
		f.guessed("nodes: there is no table of nodes: they are the ids at the ends of edges")
		return
	}
	f.ask("--nodes FILE; or --task links, which learns from edges alone",
		"no table of nodes, with ids and labels, is in %s",
		f.dir)
}

// meets reports whether some of the table's ids are ends of edges.
func (c *candidate) meets(edges []*candidate) bool {
	ids := c.column(c.id)
	return slices.ContainsFunc(edges, func(e *candidate) bool {
		return e == c || e.from != "" && ids.shared(e.column(e.from))+ids.shared(e.column(e.to)) > 0
	})
}

// rank describes how much a table looks like the one of nodes that are classified.
func (c *candidate) rank() (rank int) {
	name, _, _ := strings.Cut(strings.ToLower(c.base), ".")
	if i := slices.Index(usualNodes, name); i >= 0 {
		return 1000 - i
	}
	if len(c.names) > 2 && usualOf(c.names, usualLabels) != "" {
		rank += 500
	}
	return rank + min(len(c.names), 400)
}

// chooseTypes finds which of the tables that have nodes are used: one, or one for each type.
func (f *Found) chooseTypes(met, edges []*candidate) {
	first := slices.MaxFunc(met, func(a, b *candidate) int { return cmp.Compare(a.rank(), b.rank()) })
	types := []*candidate{first}
	var unclear []*candidate
	for _, c := range met {
		if c == first {
			continue
		}
		overlap := slices.IndexFunc(types, func(of *candidate) bool { return c.column(c.id).shared(of.column(of.id)) > 0 })
		switch {
		case overlap >= 0 && f.labels(first, c):
			f.asLabels(c)
		case overlap >= 0 && f.moreLabels(first, c):
		case overlap >= 0 && c.integers():
			unclear = append(unclear, c)
		case overlap >= 0:
			c.why = "its ids are those of " + types[overlap].base
		case len(c.names) > 1 && slices.ContainsFunc(types, func(of *candidate) bool {
			return slices.Equal(of.names, c.names)
		}):
			c.why = "it has the columns of another table of nodes: are they more rows of it? Put both into one directory"
		default:
			types = append(types, c)
		}
	}
	t := &f.Settings
	if unclear != nil {
		f.askTypes(append(types, unclear...), edges)
		return
	}
	if len(types) == 1 {
		if t.Nodes = NodesPath(first.path); !matchesExactly(first.base, usualNodes) {
			f.guessed("nodes: the table %s is a guess by its ids, which edges have as ends", first.base)
		}
		f.asNodes(first, "")
		f.apart(types, edges)
		f.addLabels(first, met)
		return
	}
	var parts, names []string
	for _, c := range types {
		kind := f.typeName(c)
		parts, names = append(parts, kind+"="+c.path), append(names, c.base)
		f.asNodes(c, kind)
	}
	t.Nodes = NodesPath(strings.Join(parts, ","))
	last := len(names) - 1
	f.guessed("nodes: %s are tables of a type of nodes each, a guess by their ids, which edges have as ends",
		strings.Join(names[:last], ", ")+" and "+names[last])
}

// integers reports whether all ids are whole numbers. Users and items both numbered from 1 share such ids.
func (c *candidate) integers() bool {
	of := c.column(c.id)
	return of.trend.n == of.rows-of.nulls && of.fractions == 0
}

// labels reports whether a table has the labels of another one's nodes: it has little more than the ids, and the other
// has no column of labels.
func (f *Found) labels(nodes, c *candidate) bool {
	t := &f.Settings
	return t.LabelTable == "" && (t.Label == "" || pick(nodes.names, t.Label) == "") && f.mayBeLabels(nodes, c)
}

// moreLabels reports whether a table has labels as the one that was taken for them has, and asks about both.
func (f *Found) moreLabels(nodes, c *candidate) bool {
	if f.given.LabelTable != "" || f.Settings.LabelTable == "" || !f.mayBeLabels(nodes, c) {
		return false
	}
	c.why = "another table of labels is taken"
	f.ask("--label-table FILE takes one of them; to have both, write them into one table, with a column split if they "+
		"are the parts of a split", "%s and %s are tables of labels: which is used?",
		f.at(f.Settings.LabelTable).base, c.base)
	return true
}

// mayBeLabels reports whether a table looks like one of labels of the nodes.
func (f *Found) mayBeLabels(nodes, c *candidate) bool {
	t := &f.Settings
	if !t.HasLabels() {
		return false
	}
	const few, most = 3, 0.9
	named := t.Label != "" && slices.Contains(c.names, t.Label) || usualOf(c.names, usualLabels) != "" ||
		matchesFile(c.base, []string{"label", "class"})
	return named && len(c.names) <= few && c.column(c.id).within(nodes.column(nodes.id)) >= most &&
		usualOf(nodes.names, usualLabels) == ""
}

// addLabels looks for the labels of a table of nodes in another table.
func (f *Found) addLabels(nodes *candidate, all []*candidate) {
	for _, c := range all {
		if c == nodes || c.use != "" || c.id == "" || nodes.id == "" {
			continue
		}
		if f.labels(nodes, c) {
			f.asLabels(c)
		} else {
			f.moreLabels(nodes, c)
		}
	}
}

// asLabels takes a table for one of labels.
func (f *Found) asLabels(c *candidate) {
	t := &f.Settings
	if c.bare {
		f.number(c)
	}
	if c.id = c.idColumn(f.given.ID); c.id == "" {
		c.id = c.names[0]
	}
	c.use, c.why, t.LabelTable = "labels of the nodes", "", c.path
	f.guessed("label_table: the table %s is a guess by its ids, which nodes have", c.base)
	f.alternativeID(c)
	if name := usualOf(c.names, usualLabels); t.Label == "" && name != "label" && name != "" {
		t.Label = name
		f.guessed("label: %s is a guess by its name", name)
	}
}

// alternativeID adds a table's column of ids to those that the settings name.
func (f *Found) alternativeID(c *candidate) {
	t := &f.Settings
	if c.id != "" && (t.ID == "" || pick(c.names, t.ID) == "") {
		f.alternative(&t.ID, c.id, "id", "by its name and values")
	}
}

// asNodes takes a table for one of nodes, of a type if nodes have types.
func (f *Found) asNodes(c *candidate, kind string) {
	t := &f.Settings
	if c.bare {
		f.number(c)
		c.id = c.idColumn(f.given.ID)
	}
	switch c.why = ""; {
	case strings.HasPrefix(c.use, "edges"):
		c.use = "nodes and edges"
	case kind != "":
		c.use = "nodes of type " + kind
	default:
		c.use = "nodes"
	}
	if c.id == "" && pick(c.names, cmp.Or(t.ID, "id")) == "" {
		if c.id = usualOf(c.names, usualIDs); c.id == "" {
			f.ask("--id COLUMN", "%s: no column is named %s: say which one is the id (--id), among %s", c.base,
				strings.Join(usualIDs[:6], ", "), listed(c.names))
			return
		}
	}
	f.alternativeID(c)
}

// apart asks about types where one table has nodes, and edges lead to things of another kind.
func (f *Found) apart(nodes, edges []*candidate) {
	for _, e := range edges {
		if e.from == "" || e.use == "nodes and edges" || usualOf([]string{e.from}, usualSources) != "" ||
			usualOf([]string{e.to}, usualTargets) != "" || isNumber(e.from) {
			continue
		}
		a, b, own := entity(e.from), entity(e.to), entity(f.typeName(nodes[0]))
		of := entity(nodes[0].id)
		if a != b && (a == own || a == of) != (b == own || b == of) {
			f.askTypes(nodes, edges)
			return
		}
	}
}

// askTypes asks whether ids that two tables have are the same nodes, or of two types.
func (f *Found) askTypes(types, edges []*candidate) {
	var pairs []string
	for _, e := range edges {
		if e.from != "" {
			pairs = append(pairs, f.endType(e, e.from, types)+":"+f.endType(e, e.to, types))
		}
	}
	switch len(slices.Compact(slices.Clone(pairs))) { // one pair serves all tables of edges, else each has its own
	case 0:
		pairs = []string{"TYPE:TYPE"}
	case 1:
		pairs = pairs[:1]
	}
	ends := "--ends " + strings.Join(pairs, ",")
	if len(types) == 1 {
		e := edges[0]
		f.assume(pairs, types)
		f.ask(ends, "%s leads from %s to %s, and only %s has nodes (%s): an id of the one would be a node of the "+
			"other. With "+
			"types ids are told apart, such as %s:5, and a type without a table has the ids that edges have", e.base,
			e.from, e.to,
			types[0].base, types[0].id, strings.Split(pairs[0], ":")[0])
		return
	}
	kinds := []string{f.typeName(types[0])}
	a, b := types[0], types[len(types)-1]
	n, example := 0, ""
	for id := range b.column(b.id).values {
		if a.column(a.id).values[id] > 0 {
			if n++; example == "" || len(id) < len(example) || len(id) == len(example) && id < example {
				example = id
			}
		}
	}
	f.assume(pairs, types)
	f.ask(ends+" tells them apart (ids are then "+entity(kinds[0])+":"+example+"); --nodes "+a.path+" if they are "+
		"the same nodes",
		"%s and %s share %d ids, such as %s: are they the same nodes, or of two types?", a.base, b.base, n, example)
}

// assume goes on with types that are asked about, so that the questions that follow are asked, too.
func (f *Found) assume(pairs []string, types []*candidate) {
	t := &f.Settings
	t.Nodes, t.Ends = "", strings.Join(pairs, ",")
	for _, c := range types {
		c.use, c.why = "", ""
	}
	n := len(f.Guesses)
	f.typed(types)
	f.Guesses = f.Guesses[:n]
	for _, c := range types {
		if c.use != "" {
			c.use += ", which is asked about"
		}
	}
}

// endType guesses the type of the nodes at an end of edges: by the name of its column, or the smallest table that has
// its
// ids.
func (f *Found) endType(e *candidate, column string, types []*candidate) string {
	best, name := 0, ""
	for _, c := range types {
		kind := f.typeName(c)
		if of := entity(column); of == entity(kind) || of != "" && of == entity(c.id) {
			return entity(kind)
		}
		ids := c.column(c.id)
		if most := 0.9; len(types) > 1 && e.column(column).within(ids) >= most && (best == 0 || len(ids.values) < best) {
			best, name = len(ids.values), entity(kind)
		}
	}
	return cmp.Or(name, entity(column))
}

// typed takes the tables of the types at the ends of edges for those of nodes.
func (f *Found) typed(all []*candidate) {
	t := &f.Settings
	ends, err := t.EndTypes()
	if err != nil {
		f.ask("--ends user:item", "%v", err)
		return
	}
	var parts, kinds []string
	for _, pair := range ends {
		for _, kind := range pair {
			if slices.Contains(kinds, kind) {
				continue
			}
			kinds = append(kinds, kind)
			i := slices.IndexFunc(all, func(c *candidate) bool {
				return entity(f.typeName(c)) == entity(kind) || f.kind == kind
			})
			if i < 0 {
				i = slices.IndexFunc(all, func(c *candidate) bool { return entity(kind) != "" && entity(c.id) == entity(kind) })
			}
			if i < 0 || all[i].use != "" {
				f.guessed("nodes of type %s have no table: they are the ids at the ends of edges", kind)
				continue
			}
			f.asNodes(all[i], kind)
			parts = append(parts, kind+"="+all[i].path)
		}
	}
	if parts == nil && t.Nodes != "" {
		f.ask("--nodes TYPE="+string(t.Nodes), "--ends is %s: which type are the nodes of %s?", t.Ends, t.Nodes)
	}
	t.Nodes = NodesPath(strings.Join(parts, ","))
	for _, c := range all {
		if c.use == "" && c.why == "" {
			c.why = "its nodes are of no type at the ends of edges (--ends " + t.Ends + ")"
		}
	}
	if !t.HasLabels() && t.Candidates == "" && len(ends) == 1 && ends[0][0] != ends[0][1] {
		t.Candidates = NodeType + "=" + ends[0][1]
		f.guessed("candidates: %s is a guess: arrivals link to the targets of edges", t.Candidates)
	}
}

// doubts asks about first lines that may be names of columns or a row, of the tables that are used.
func (f *Found) doubts() {
	for _, c := range f.inventory.tables {
		if c.doubt == "" || c.use == "" && f.given.Edges != "" || c.use == "" && f.Settings.Edges != "" {
			continue
		}
		known := slices.ContainsFunc(c.names, func(name string) bool {
			g := f.given
			return slices.Contains(strings.Split(strings.Join([]string{g.ID, g.Source, g.Target, g.Label, g.Split}, ","),
				","), name)
		})
		if !known {
			f.ask(fmt.Sprintf("--header %s=none, or %s=first", c.base, c.base), "%s: %s?", c.base, c.doubt)
		}
	}
}

// list says of each file what it is used as.
func (f *Found) list() {
	for _, c := range f.inventory.tables {
		switch {
		case strings.HasPrefix(c.use, "edges") && c.from != "":
			f.Files = append(f.Files, fmt.Sprintf("%s: %s, from %s to %s, %d rows", c.base, c.use, c.from, c.to, c.rows))
		case c.use != "":
			f.Files = append(f.Files, fmt.Sprintf("%s: %s, %d rows", c.base, c.use, c.rows))
		default:
			f.Files = append(f.Files, c.base+": left out: "+cmp.Or(c.why, "another table is named"))
		}
	}
	f.Files = append(f.Files, f.inventory.others...)
}
