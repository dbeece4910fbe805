package graphsaint

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"rivulet/dataset/digest"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/schema"
)

// Ends are the open ends of arrivals that were merged into a data set: package trainer/merge goes on from them, so that
// it does not matter in how many parts the arrivals come.
type Ends struct {
	// Waiting are edges to ids that are no nodes of the data yet, in the order in which they came.
	Waiting []Waiting `json:"waiting"`
	// Labelled are the nodes, ascending, whose class came from a label and may be changed by a later one.
	Labelled []int32 `json:"labelled"`
}

// Waiting is an edge without one of its ends, or without both.
type Waiting struct {
	Node int32  `json:"node"`           // -1: this end is no node yet either, and has the id From
	ID   string `json:"id"`             // of the other end
	From string `json:"from,omitempty"` // empty where Node is one

	Weight float32 `json:"weight,omitempty"` // 0: edges have no weights
	Type   string  `json:"type,omitempty"`   // empty: edges have no types
	In     bool    `json:"in,omitempty"`     // the edge leads from ID; false: to ID, or edges have no directions
}

// Merged is the form of merged.json: what a data set has beside the layout's own files. Older readers refuse a field
// that they do not know.
type Merged struct {
	Ends

	Weights  bool     `json:"weights,omitempty"`  // the entries of the adjacency matrix are the weights of edges
	Types    []string `json:"types,omitempty"`    // of edges, as in [graph.Slots]
	Directed bool     `json:"directed,omitempty"` // edges have directions
	Arriving uint8    `json:"arriving,omitempty"` // directions of arrivals' edges, as in [graph.Slots]

	Task       target.Task `json:"task,omitzero"`
	Candidates []int32     `json:"candidates,omitempty"` // of a task of links; none: all nodes are

	NodeTypes *schema.Types `json:"node_types,omitempty"` // nil: all nodes are of one type
}

// Relations returns the types and directions of edges.
func (f *Merged) Relations() graph.Slots {
	return graph.Slots{Types: f.Types, Directed: f.Directed, Arriving: f.Arriving}
}

// Open returns the open ends; lists without elements are nil.
func (f *Merged) Open() (m Ends) {
	m.Waiting, m.Labelled = append(m.Waiting, f.Waiting...), append(m.Labelled, f.Labelled...)
	return m
}

// Empty reports whether there is nothing to describe.
func (f *Merged) Empty() bool {
	return f.Ends.Empty() && !f.Weights && f.Types == nil && !f.Directed && f.Task == target.Classes && f.NodeTypes == nil
}

// Empty reports whether there are no open ends.
func (m *Ends) Empty() bool { return len(m.Waiting) == 0 && len(m.Labelled) == 0 }

// Check refuses nodes that the data do not have, ids that they do have, and classes of nodes that are not trained on.
func (m *Ends) Check(ids []string, train []int32) error {
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	for k, w := range m.Waiting {
		switch {
		case w.From != "" && (w.Node != -1 || known[w.From] || !utf8.ValidString(w.From)):
			return fmt.Errorf("waiting[%d].from is %.100q and node %d, want an id that is not there yet, and -1", k, w.From,
				w.Node)
		case w.From == "" && (w.Node < 0 || int(w.Node) >= len(ids)):
			return fmt.Errorf("waiting[%d].node is %d, want 0 to %d", k, w.Node, len(ids)-1)
		case w.ID == "" || !utf8.ValidString(w.ID):
			return fmt.Errorf("waiting[%d].id is %.100q, want an id in UTF-8", k, w.ID)
		case known[w.ID]:
			return fmt.Errorf("waiting[%d].id is %.100q, a node of the data: want one that is not there yet", k, w.ID)
		case !(w.Weight >= 0):
			return fmt.Errorf("waiting[%d].weight is %v, want a weight above 0", k, w.Weight)
		}
	}
	for k, i := range m.Labelled {
		_, trains := slices.BinarySearch(train, i)
		switch {
		case k > 0 && i <= m.Labelled[k-1]:
			return fmt.Errorf("labelled[%d] is %d after %d, want ascending nodes", k, i, m.Labelled[k-1])
		case !trains:
			return fmt.Errorf("labelled[%d] is %d, no training node", k, i)
		}
	}
	return nil
}

// Digest adds the open ends to a fingerprint.
func (m *Ends) Digest(f digest.Writer) {
	f.Size(len(m.Waiting))
	for _, w := range m.Waiting {
		f.U32(uint32(w.Node))
		f.Texts([]string{w.ID})
		if w.From != "" {
			f.Texts([]string{w.From})
		}
		if w.Weight != 0 {
			f.Values([]float32{w.Weight})
		}
		if w.Type != "" || w.In {
			f.Texts([]string{w.Type})
			f.Flag(w.In)
		}
	}
	f.Ints(m.Labelled)
}
