package table

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nodeColumns holds the index of each column of a table of nodes; -1 if there is none.
type nodeColumns struct {
	id, label int
	more      []int    // columns of further labels
	time      int      // the column of times; -1: there is none
	split     []int    // the column of the role, or a mask for each role; empty: none
	masks     []string // the role of each of split; nil: split has one column, which names the role
	list      int      // the column features, of a table whose features have positions; -1: they are columns of their own
	features  []int    // every other column; nil if there is a list
	ignored   []string
	guess     string // a sentence on the column taken for the split, if no setting names it
}

// head are the columns of id, label, role, time and further labels.
func (c *nodeColumns) head() []int {
	head := append([]int{c.id, c.label}, c.split...)
	if c.time >= 0 {
		head = append(head, c.time)
	}
	return append(head, c.more...)
}

// values are the columns of features.
func (c *nodeColumns) values() []int {
	if c.list >= 0 {
		return []int{c.list}
	}
	return c.features
}

// planNodes finds the columns of nodes by name. With positional, a column features holds all of a node's
// features, and then others are ignored; otherwise every column that has no other meaning and is not dropped is
// a feature. Only the split may be missing, unless it is named.
func (t Settings) planNodes(names []string, positional bool) (nodeColumns, error) {
	c := nodeColumns{list: -1, time: -1}
	if err := distinctNames(names); err != nil {
		return c, err
	}
	if positional && t.Features == "" {
		c.list = slices.Index(names, "features")
	}
	for _, name := range names {
		if c.list < 0 && isIndex(name) && (t.ID == "" || name != t.ID) && !slices.Contains(t.Drop, name) {
			return c, fmt.Errorf(
				"column %q is the row number that pandas writes, and no feature: write the table with index=False, or drop the "+
					"column; if the index holds the ids, name it: df.rename_axis(\"id\").reset_index()",
				name,
			)
		}
	}
	var err error
	if c.id, err = find(names, t.ID, "id", true); err != nil {
		return c, err
	}
	for k, label := range t.Labels() {
		i, err := find(names, label, "label", true)
		switch {
		case err != nil:
			return c, err
		case k == 0:
			c.label = i
		case i == c.label || slices.Contains(c.more, i):
			return c, fmt.Errorf("column %.100s is twice among the labels", label)
		default:
			c.more = append(c.more, i)
		}
	}
	if t.Time != "" {
		if c.time, err = find(names, t.Time, "time", true); err != nil {
			return c, err
		}
	}
	masks, err := c.planSplit(t, names)
	if err != nil {
		return c, err
	}
	for _, name := range slices.Concat(t.Drop, slices.Sorted(maps.Keys(t.Types))) {
		if !slices.Contains(names, name) {
			return c, fmt.Errorf("no column %.100s, which is said to be dropped or of a type, among %s", name, listed(names))
		}
	}
	for i, name := range names {
		switch {
		case i == 0 && name == NodeType && t.typed():
			c.features = append(c.features, i) // also where it tells the candidates of links
		case i == c.id || i == c.label || i == c.list || i == c.time ||
			slices.Contains(c.split, i) || slices.Contains(c.more, i):
		case c.list >= 0 || t.Features != "" || slices.Contains(t.Drop, name) || slices.Contains(masks, i):
			c.ignored = append(c.ignored, name)
		default:
			c.features = append(c.features, i)
		}
	}
	if c.list < 0 && len(c.features) == 0 && t.Features == "" {
		return c, fmt.Errorf(
			"no features among %s: want a column features or a column for each; a table of the columns node, feature "+
				"and value is named in %s (features: …); --degree (degree: true) takes the number of a node's neighbours",
			listed(names),
			SettingsFile,
		)
	}
	return c, nil
}

// find returns the index of the column that is named, or else of the usual one.
func find(names []string, said, usual string, required bool) (int, error) {
	name := cmp.Or(said, usual)
	i := slices.Index(names, name)
	if i < 0 && (required || said != "") {
		return i, fmt.Errorf("no column %.100s among %s: say which column is the %s", name, listed(names), usual)
	}
	return i, nil
}

// isIndex reports whether pandas gives this name to a column that holds the numbers of rows: to_csv, read_csv of
// such a file, and to_parquet.
func isIndex(name string) bool {
	return name == "" || strings.HasPrefix(name, "Unnamed: ") || strings.HasPrefix(name, "__index_level_")
}

// edgeColumns holds the index of each column of a table of edges; -1 if there is none.
type edgeColumns struct {
	source, target, weight, kind int // kind is the column of the type
	ignored                      []string
}

// planEdges finds the columns of edges by name. Others are ignored.
func (t Settings) planEdges(names []string) (edgeColumns, error) {
	var c edgeColumns
	if err := distinctNames(names); err != nil {
		return c, err
	}
	var err error
	if c.source, err = find(names, t.Source, "source", true); err != nil {
		return c, err
	}
	if c.target, err = find(names, t.Target, "target", true); err != nil {
		return c, err
	}
	if c.weight, err = find(names, t.Weight, "weight", false); err != nil {
		return c, err
	}
	if c.kind = -1; t.EdgeType != "" {
		if c.kind, err = find(names, t.EdgeType, "type of an edge (--edge-type)", true); err != nil {
			return c, err
		}
	}
	for i, name := range names {
		if i != c.source && i != c.target && i != c.weight && i != c.kind {
			c.ignored = append(c.ignored, name)
		}
	}
	return c, nil
}

// listed returns the first of many names, for errors.
func listed(names []string) string {
	const most = 30
	if len(names) > most {
		return fmt.Sprintf("%q and %d more", names[:most], len(names)-most)
	}
	return fmt.Sprintf("%q", names)
}

func distinctNames(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("two columns are named %.100q", name)
		}
		seen[name] = true
	}
	return nil
}
