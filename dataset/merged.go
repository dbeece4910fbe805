package dataset

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Merged holds the open ends of arrivals that were merged into a data set: package merge goes on from them, so that it
// does not matter in how many parts the arrivals come.
type Merged struct {
	// Waiting are edges to ids that are no nodes of the data yet, in the order in which they came.
	Waiting []Waiting
	// Labelled are the nodes, ascending, whose class came from a label and may be changed by a later one.
	Labelled []int32
}

// Waiting is an edge with only one known end.
type Waiting struct {
	Node int32  `json:"node"`
	ID   string `json:"id"` // of the other end
}

func (m *Merged) empty() bool { return len(m.Waiting) == 0 && len(m.Labelled) == 0 }

// mergedJSON is the form of merged.json.
type mergedJSON struct {
	Waiting  []Waiting `json:"waiting"`
	Labelled []int32   `json:"labelled"`
}

func (d *Dataset) loadMerged(dir string) error {
	var m mergedJSON
	return readJSON(dir, mergedFile, &m, func() error {
		if len(m.Waiting) > 0 {
			d.Merged.Waiting = m.Waiting
		}
		if len(m.Labelled) > 0 {
			d.Merged.Labelled = m.Labelled
		}
		return d.Merged.check(d)
	})
}

// check refuses nodes that the data do not have, ids that they do have, and classes of nodes that have none.
func (m *Merged) check(d *Dataset) error {
	known := make(map[string]bool, len(d.IDs))
	for _, id := range d.IDs {
		known[id] = true
	}
	for k, w := range m.Waiting {
		switch {
		case w.Node < 0 || int(w.Node) >= d.Nodes():
			return fmt.Errorf("waiting[%d].node is %d, want 0 to %d", k, w.Node, d.Nodes()-1)
		case w.ID == "" || !utf8.ValidString(w.ID):
			return fmt.Errorf("waiting[%d].id is %.100q, want an id in UTF-8", k, w.ID)
		case known[w.ID]:
			return fmt.Errorf("waiting[%d].id is %.100q, a node of the data: want one that is not there yet", k, w.ID)
		}
	}
	for k, i := range m.Labelled {
		switch {
		case k > 0 && i <= m.Labelled[k-1]:
			return fmt.Errorf("labelled[%d] is %d after %d, want ascending nodes", k, i, m.Labelled[k-1])
		case !in(d.Train, i):
			return fmt.Errorf("labelled[%d] is %d, no training node", k, i)
		}
	}
	return nil
}

// in reports whether an ascending list has a node.
func in(nodes []int32, i int32) bool {
	_, found := slices.BinarySearch(nodes, i)
	return found
}
