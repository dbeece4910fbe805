package consumer

import (
	"context"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
)

// EdgeCounts are numbers of edges whose weight, direction or type was read as another one, or not at all.
type EdgeCounts struct {
	Ignored    int // the artifact's edges have no weights: read as 1
	Missing    int // the arrival gives none, and the artifact's edges have weights: read as 1
	Directions int // the artifact's edges have none: the edge was read as one without
	Above      int // above all weights of T: as the heaviest of them, but of a mean, which takes weights as they are
	Types      int // the artifact's edges have none: the edge was read as one without
	Unknown    int // no type of the artifact's edges, or no type at all where these have some: an unknown neighbour
}

// Add adds other counts.
func (c *EdgeCounts) Add(o EdgeCounts) {
	c.Ignored, c.Missing = c.Ignored+o.Ignored, c.Missing+o.Missing
	c.Directions, c.Above = c.Directions+o.Directions, c.Above+o.Above
	c.Types, c.Unknown = c.Types+o.Types, c.Unknown+o.Unknown
}

// read counts the weights of an arrival, and its directions where edges have neither these nor types.
func (c *EdgeCounts) read(a *event.Arrival, slots *graph.Slots) {
	switch {
	case !slots.Weighted:
		c.Ignored += len(a.Weights)
	case a.Weights == nil:
		c.Missing += len(a.Edges)
	default:
		for _, w := range a.Weights {
			if slots.Beyond(w) {
				c.Above++
			}
		}
	}
	if !slots.Relational() {
		c.Directions += len(a.Relations)
	}
}

// relate makes relations of a version of the types and directions of an arrival's edges, and counts the others. Of a
// version without relations directions stay, which are counted when edges are distinct.
func relate(a *event.Arrival, slots *graph.Slots) (unread EdgeCounts) {
	if !slots.Relational() {
		for _, kind := range a.Types {
			if kind != "" {
				unread.Types++
			}
		}
		return unread
	}
	if !slots.Directed {
		unread.Directions = len(a.Relations)
	}
	a.Relate(func(kind string, directions uint32) uint32 {
		of := slots.Type(kind)
		switch {
		case of < 0:
			unread.Unknown++
		case len(slots.Types) == 0 && kind != "":
			unread.Types++
		}
		return slots.Relations(of, directions)
	})
	return unread
}

// setEdges gives rows of M of an arrival's neighbours their edges, as the record says them, in memory behind others.
func setEdges(rows []attach.Row, a *event.Arrival, edges []attach.Edge) []attach.Edge {
	a.EachEdge(func(k int, relations uint32, weights []float32) {
		edges = append(edges, attach.Edge{Relations: relations, Weights: weights})
		rows[k].Edge = &edges[len(edges)-1]
	})
	return edges
}

// rowLookup looks up rows of M, the mapping from original to synthetic nodes, by ids.
type rowLookup interface {
	Rows(ctx context.Context, ids []string, rows []attach.Row) error
}

// countOldEdges counts the edges that join two nodes of T, among edges without an arrival, given by the ids of their
// ends. An end whose row cannot be read counts as no node of T.
func countOldEdges(ctx context.Context, ends [][2]string, m rowLookup) (int, error) {
	if len(ends) == 0 {
		return 0, nil
	}
	place, ids := make(map[string]int, 2*len(ends)), make([]string, 0, 2*len(ends))
	for _, e := range ends {
		for _, id := range e {
			if _, there := place[id]; !there {
				place[id], ids = len(ids), append(ids, id)
			}
		}
	}
	found, old := make([]attach.Row, len(ids)), 0
	if err := m.Rows(ctx, ids, found); err != nil {
		return 0, err
	}
	for _, e := range ends {
		if found[place[e[0]]].Known && found[place[e[1]]].Known && e[0] != e[1] {
			old++
		}
	}
	return old, nil
}
