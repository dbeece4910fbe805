package dataset

import (
	"errors"
	"fmt"

	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/attach"
)

// errWeightsAndDirections is the error of data that are to keep both.
var errWeightsAndDirections = errors.New("edges have weights, and directions are to be kept (--directed): a mean for " +
	"each direction counts its edges alike; --drop-weights reads each as 1")

// keepDirections keeps the directions of edges, which lead from the first node to the second. Edges of a node to
// itself are left out, and repeated ones count once.
func (d *Dataset) keepDirections(n int, edges [][2]int32, t table.Settings) {
	d.Arriving = map[string]uint8{"out": graph.Outgoing, "in": graph.Incoming}[t.ArrivalEdges]
	entries := make([]graph.Edge, 0, len(edges))
	for _, e := range edges {
		if e[0] != e[1] {
			entries = append(entries, graph.Edge{Row: e[0], Col: e[1], Val: 1})
		}
	}
	out := graph.NewCSR(n, n, entries)
	out.Val = nil
	d.Directed = graph.NewDirected(out)
	d.note("Edges have directions: %d, of which %d go both ways.", out.NNZ(), 2*out.NNZ()-d.Adj.NNZ())
}

// pairs are the entries of a matrix.
func pairs(adj *graph.CSR) (edges [][2]int32) {
	for i := range adj.Rows {
		cols, _ := adj.Row(i)
		for _, j := range cols {
			edges = append(edges, [2]int32{int32(i), j})
		}
	}
	return edges
}

// RequireUndirected returns an error where the directions of edges are kept, which a capability does not read.
func (d *Dataset) RequireUndirected(capability string) error {
	if d.Directed == nil {
		return nil
	}
	return fmt.Errorf("edges have directions, which %s does not read; without --directed each goes both ways", capability)
}

// Directions returns the ids of the nodes that edges of a node lead to, and of the nodes whose edges lead to it, as an
// arrival brings them. Where edges have no directions, all neighbours are among the former.
func (d *Dataset) Directions(node int32) (to, from []string) {
	if d.Directed == nil {
		return d.Neighbours(node), nil
	}
	for side, cols := range d.Directed.Directions(int(node)) {
		for _, j := range cols {
			switch {
			case d.Arriving != 0 && d.Arriving>>side&1 == 0:
			case side == 0:
				to = append(to, d.IDs[j])
			default:
				from = append(from, d.IDs[int(j)-d.Nodes()])
			}
		}
	}
	return to, from
}

// attachDirected is [Dataset.Attach] where edges have directions: R has the shares of the two means, n×2N, and Known
// counts distinct neighbours. Edges among arrivals are not read.
func (d *Dataset) attachDirected(o *Original, nodes []int32) *attach.Batch {
	b := &attach.Batch{X: d.X.Take(nodes), R: d.Directed.CutDirected(nodes, o.Index, len(o.Nodes)),
		Known: make([]int32, len(nodes))}
	if d.Arriving != 0 {
		b.R = b.R.Leading(d.Arriving)
	}
	for k := range nodes {
		met := map[int32]bool{}
		for side, cols := range b.R.Directions(k) {
			for _, j := range cols {
				met[j-int32(side*len(o.Nodes))] = true
			}
		}
		b.Known[k] = int32(len(met))
	}
	return b
}
