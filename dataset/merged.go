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

// Waiting is an edge without one of its ends, or without both.
type Waiting struct {
	Node int32  `json:"node"`           // -1: this end is no node yet either, and has the id From
	ID   string `json:"id"`             // of the other end
	From string `json:"from,omitempty"` // empty where Node is one
}

// WaitingEdge returns the edge from an id to one that is no node yet. index has the nodes of ids.
func WaitingEdge(index map[string]int32, from, id string) Waiting {
	if node, known := index[from]; known {
		return Waiting{Node: node, ID: id}
	}
	return Waiting{Node: -1, ID: id, From: from}
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
		case w.From != "" && (w.Node != -1 || known[w.From] || !utf8.ValidString(w.From)):
			return fmt.Errorf("waiting[%d].from is %.100q and node %d, want an id that is not there yet, and -1", k, w.From,
				w.Node)
		case w.From == "" && (w.Node < 0 || int(w.Node) >= d.Nodes()):
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
