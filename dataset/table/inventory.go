package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// inventory is a look at the files of a directory: which are tables, and what their columns may be.
type inventory struct {
	tables []*candidate
	others []string // a line for each file that is no table
	bytes  bool     // some text is not UTF-8
}

// candidate is a table that may be used.
type candidate struct {
	path, base string
	names      []string
	columns    []*content
	doubt      string // about its first line
	bare       bool   // it has no line of names: columns are 0, 1, …
	rows       int
	id         string // the column of ids, of nodes
	from, to   string // the columns of ends, of edges
	use        string // what it is used as; empty: left out
	why        string // why it is left out
}

// content has the values of a column.
type content struct {
	*survey
	values map[string]int // how often each value occurs in the first rows; nil: they are no ids
	repeat bool           // some value occurs twice
}

// firstRows is the number of rows of a table that are looked at for ids.
const firstRows = 100_000

// own reports whether every row has a value of its own.
func (c *content) own() bool {
	return c.values != nil && !c.repeat && c.nulls == 0 && len(c.values) > 0
}

// notTables are files of other purposes than data, in small letters.
var notTables = []string{"readme", "license", "licence", "changelog", "makefile", "dockerfile"}

var notTableExts = []string{".md", ".py", ".sh", ".go", ".ipynb", ".log", ".rst", ".pdf", ".png", ".r", ".sql",
	".cypher"}

// take looks at the files of a directory, and at the tables at some paths.
func take(dir string, paths []string, kinds []Kind, form TextForm, commas bool) (*inventory, error) {
	inv := &inventory{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if hasRelations(dir) && !slices.ContainsFunc(paths, func(path string) bool { return path != "" }) {
		return nil, fmt.Errorf("%s has a directory for each relation, a form that OGB reads: python -m rivulet_mcond.export "+
			"ogb:NAME DIR --root RAW", dir)
	}
	known := map[string]bool{}
	for _, path := range paths {
		if path == "" || known[filepath.Clean(path)] {
			continue
		}
		known[filepath.Clean(path)] = true
		c, err := look(path, kinds, form, commas)
		if err != nil {
			return nil, err
		}
		inv.tables = append(inv.tables, c)
	}
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(dir, entry.Name())
		lower := strings.ToLower(name)
		switch {
		case name == SettingsFile || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
			known[filepath.Clean(path)]:
			continue
		case slices.Contains(notTableExts, filepath.Ext(lower)) || slices.ContainsFunc(notTables, func(of string) bool {
			return strings.HasPrefix(lower, of)
		}):
			inv.others = append(inv.others, name+": left out: no data")
			continue
		}
		c, err := look(path, kinds, form, commas)
		if err != nil {
			inv.bytes = inv.bytes || errors.Is(err, ErrNotUTF8)
			inv.others = append(inv.others, fmt.Sprintf("%s: left out: %v", name, err))
			continue
		}
		inv.tables = append(inv.tables, c)
	}
	for _, c := range inv.tables {
		inv.bytes = inv.bytes || slices.ContainsFunc(c.columns, func(of *content) bool { return of.bytes })
	}
	return inv, nil
}

// ErrNotUTF8 means that a text is in another encoding.
var ErrNotUTF8 = errors.New("not UTF-8")

// hasRelations reports whether a directory has directories such as author___writes___paper.
func hasRelations(dir string) bool {
	found, err := filepath.Glob(filepath.Join(dir, "*___*___*"))
	inner, errInner := filepath.Glob(filepath.Join(dir, "relations", "*___*___*"))
	return err == nil && errInner == nil && len(found)+len(inner) > 0
}

// look reads a table.
func look(path string, kinds []Kind, form TextForm, commas bool) (*candidate, error) {
	source, err := Named(path, kinds, form)
	if err != nil {
		return nil, err
	}
	c := &candidate{path: path, base: filepath.Base(path)}
	err = source.Each(func(f File) error {
		if c.names == nil {
			c.names, c.doubt = slices.Clone(f.Columns()), f.Doubt()
			c.bare = (f.Guess() != "" || form.HeaderOf(path) == "none") && (c.names[0] == "0" || c.names[0] == "source")
			for i, name := range c.names {
				c.columns = append(c.columns, &content{survey: &survey{name: name, categorical: f.Categorical(i)},
					values: map[string]int{}})
			}
		}
		all := make([]int, len(c.names))
		for i := range all {
			all[i] = i
		}
		return f.Each(all, func(cells []Cell, at Place) error {
			c.rows++
			for i := range cells {
				c.columns[i].see(&cells[i], at, commas)
				c.columns[i].take(&cells[i], c.rows)
			}
			return nil
		})
	})
	if err == nil && c.rows == 0 {
		err = errors.New("it has no row")
	}
	return c, err
}

// take notes a value that may be an id.
func (c *content) take(cell *Cell, row int) {
	if c.values == nil || row > firstRows || cell.missing() {
		return
	}
	id, err := cell.id()
	const longest = 200
	if err != nil || len(id) > longest || cell.Kind == Bool || cell.Kind == Time || c.fractions > 0 &&
		c.kinds[Text] == 0 &&
		c.forms[asText] == 0 {
		c.values = nil
		return
	}
	if c.values[id]++; c.values[id] > 1 {
		c.repeat = true
	} else {
		delete(c.values, id)
		c.values[strings.Clone(id)] = 1
	}
}

// column returns the content of a column by its name.
func (c *candidate) column(name string) *content {
	if i := slices.Index(c.names, name); i >= 0 {
		return c.columns[i]
	}
	return nil
}

// within returns the share of a column's values that another column has, too.
func (c *content) within(other *content) float64 {
	if c == nil || other == nil || len(c.values) == 0 {
		return 0
	}
	return float64(c.shared(other)) / float64(len(c.values))
}

func (c *content) shared(other *content) (n int) {
	for id := range c.values {
		if other.values[id] > 0 {
			n++
		}
	}
	return n
}

// entity is the thing that the name of a column, a type or a file is about: user for user_id, userId and users.csv.
func entity(name string) string {
	name, _ = typedName(name)
	name = plain(strings.TrimLeft(name, "~_:"))
	for _, end := range []string{"ids", "id", "idx", "key", "no"} {
		if cut, ok := strings.CutSuffix(name, end); ok && cut != "" {
			name = cut
			break
		}
	}
	if cut, ok := strings.CutSuffix(name, "s"); ok && !strings.HasSuffix(cut, "s") && cut != "" {
		return cut
	}
	return name
}

// idColumn returns the column of ids of a table of nodes: the one that is said, one with a usual name, one that ends in
// id, or, without a line of names, the first; each row has a value of its own in it. Empty: there is none.
func (c *candidate) idColumn(said string) string {
	if name := pick(c.names, said); said != "" && name != "" {
		return name
	}
	own := func(name string) bool { of := c.column(name); return of.own() }
	for _, usual := range usualIDs {
		for _, name := range c.names {
			if matches(name, usual) && own(name) {
				return name
			}
		}
	}
	for _, name := range c.names {
		if (strings.HasSuffix(plain(name), "id") || slices.Contains(things, entity(name))) && own(name) {
			return name
		}
	}
	if c.bare {
		if own(c.names[0]) {
			return c.names[0]
		}
		return ""
	}
	if usualOf(c.names[:1], usualSources) == "" && own(c.names[0]) && len(c.columns[0].values) >= fewNodes &&
		c.columns[0].trend.n == 0 { // names, as text
		return c.names[0]
	}
	return ""
}

// pairs reports whether a table without a line of names, in whose first column each row has a value of its own, is
// rather one of edges, such as child and parent, than of nodes and their classes.
func (c *candidate) pairs() bool {
	const most, share = 50, 4
	if len(c.names) < 2 || matchesFile(c.base, []string{"label", "class", "node"}) {
		return false
	}
	second := c.columns[1]
	return matchesFile(c.base, usualEdges) || len(c.names) <= 3 && (2*len(second.values) > c.rows ||
		len(second.values) > min(most, c.rows/share) && second.within(c.columns[0]) > 0)
}

// things are names of columns at the ends of edges that name a node's type.
var things = []string{"user", "item", "movie", "product", "book", "artist", "author", "paper", "customer", "seller",
	"buyer", "sender", "receiver", "payer", "payee", "person", "group", "account", "merchant", "actor", "song", "track"}

// ends returns the columns of the ends of edges; empty: the table is none of edges. how says how they were found.
func (c *candidate) ends(s Settings) (source, target, how string) {
	source, target = pick(c.names, s.Source), pick(c.names, s.Target)
	if c.bare && s.Source == "" && s.Target == "" {
		return c.endsByPlace()
	}
	if i, j := c.number(s.Source), c.number(s.Target); i >= 0 && j >= 0 {
		return c.names[i], c.names[j], "by their names"
	}
	if s.Source == "" {
		source = usualOf(c.names, usualSources)
	}
	if s.Target == "" {
		target = usualOf(c.names, usualTargets)
	}
	if source != "" && target != "" && source != target {
		return source, target, "by their names"
	}
	if s.Source != "" || s.Target != "" {
		return "", "", ""
	}
	var found []string
	for _, name := range c.names {
		e := entity(name)
		if of := c.column(name); of.values != nil && of.fractions == 0 &&
			(slices.Contains(things, e) || e != plain(name) && strings.HasSuffix(plain(name), "id")) {
			found = append(found, name)
		}
	}
	if len(found) == 2 {
		return found[0], found[1], "by their names"
	}
	return "", "", ""
}

// number returns the column that a setting names by its number, in a table without a line of names; -1: it does not.
func (c *candidate) number(said string) int {
	if i, err := strconv.Atoi(said); c.bare && err == nil && i >= 0 && i < len(c.names) {
		return i
	}
	return -1
}

// endsByPlace returns the first columns of a table without a line of names, if they may be the ends of edges.
func (c *candidate) endsByPlace() (source, target, how string) {
	const ends = 2
	if len(c.names) < ends {
		return "", "", ""
	}
	for _, of := range c.columns[:2] {
		if of.fractions > 0 || of.values == nil {
			return "", "", ""
		}
	}
	const text = 3
	if a := c.columns; len(a) == text && a[0].trend.n+a[1].trend.n+a[2].trend.n == 0 &&
		a[1].shared(a[0])+a[1].shared(a[2]) == 0 {
		return c.names[0], c.names[2], "around a column of relations"
	}
	return c.names[0], c.names[1], "by their place"
}

func usualOf(names, usual []string) string {
	for _, of := range usual {
		for _, name := range names {
			if name == of || matches(name, of) {
				return name
			}
		}
	}
	return ""
}

// endsByValues returns the two columns of a table whose values are ids of nodes and most alike; empty: there are none.
func (c *candidate) endsByValues(ids *content) (source, target string) {
	const most, alike = 0.9, 0.1
	best := alike
	for i, a := range c.columns {
		if a.within(ids) < most {
			continue
		}
		for j := i + 1; j < len(c.columns); j++ {
			b := c.columns[j]
			if b.within(ids) < most {
				continue
			}
			same := a.shared(b)
			if of := float64(same) / float64(len(a.values)+len(b.values)-same); of > best {
				best, source, target = of, c.names[i], c.names[j]
			}
		}
	}
	return source, target
}
