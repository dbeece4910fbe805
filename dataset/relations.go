package dataset

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/attach"
)

// keepRelations keeps the types and directions of edges, as the settings say. Edges lead from the first node to the
// second. Edges of a node to itself are left out. The weights of an edge that is given several times with one
// type are added up, and where they have no directions the larger of both counts ([symmetric]). weights and kinds are
// the weights and types of the edges, nil of none.
func (d *Dataset) keepRelations(n int, edges [][2]int32, weights []float32, kinds []string, t table.Settings) error {
	by := graph.Slots{Directed: t.Directed,
		Arriving: map[string]uint8{"out": graph.Outgoing, "in": graph.Incoming}[t.ArrivalEdges]}
	if kinds != nil {
		distinct := map[string]bool{}
		for _, kind := range kinds {
			distinct[kind] = true
		}
		by.Types = slices.Sorted(maps.Keys(distinct))
	}
	if err := by.Validate(); err != nil {
		return err
	}
	entries := make([][]graph.Edge, max(1, len(by.Types)))
	for k, e := range edges {
		of := 0
		if kinds != nil {
			of = by.Type(kinds[k])
		}
		if e[0] == e[1] {
			continue
		}
		w := float32(1)
		if weights != nil {
			w = weights[k]
		}
		entries[of] = append(entries[of], graph.Edge{Row: e[0], Col: e[1], Val: w})
	}
	var out []*graph.CSR
	notOne := func(w float32) bool { return w != 1 }
	differ := false // by type and direction; a sum over types, or the larger of both directions, may be 1 all the same
	for _, of := range entries {
		adj := graph.NewCSR(n, n, of)
		for k, w := range adj.Val {
			adj.Val[k] = min(w, math.MaxFloat32)
		}
		if !by.Directed {
			adj = symmetric(adj)
		}
		differ = differ || slices.ContainsFunc(adj.Val, notOne)
		out = append(out, adj)
	}
	if d.Adj.Val == nil && differ && slices.ContainsFunc(weights, notOne) {
		d.Adj.Val = slices.Repeat([]float32{1}, d.Adj.NNZ())
	}
	d.Relate(by, out...)
	d.noteRelations(out)
	return nil
}

// Relate makes relations of the edges of each type: row i of out[t] has the nodes that edges of type t lead to from
// node i, or where edges have no directions its neighbours. Where edges have weights, Adj has their sums over the
// types.
func (d *Dataset) Relate(by graph.Slots, out ...*graph.CSR) {
	all := out
	if by.Directed {
		all = nil
		for _, adj := range out {
			all = append(all, adj, adj.Transpose())
		}
	}
	d.By, d.Relations = by, graph.InSlots(all...)
	switch {
	case d.Adj.Val == nil:
		d.Relations.Val = nil
	case d.Relations.Val == nil: // each is 1
		d.Relations.Val = slices.Repeat([]float32{1}, d.Relations.NNZ())
		fallthrough
	default:
		d.Adj = together(by, out)
	}
}

// together returns the edges of all types, both ways, with the weights of all types of an edge added up.
func together(by graph.Slots, out []*graph.CSR) *graph.CSR {
	var entries []graph.Edge
	for _, adj := range out {
		for i := range adj.Rows {
			for k := adj.RowPtr[i]; k < adj.RowPtr[i+1]; k++ {
				entries = append(entries, graph.Edge{Row: int32(i), Col: adj.ColIdx[k], Val: adj.Weight(k)})
			}
		}
	}
	all := graph.NewCSR(out[0].Rows, out[0].Rows, entries)
	if by.Directed {
		return symmetric(all)
	}
	for k, w := range all.Val {
		all.Val[k] = min(w, math.MaxFloat32)
	}
	return all
}

// noteRelations says how many edges there are of each type, and that they have directions.
func (d *Dataset) noteRelations(out []*graph.CSR) {
	if d.By.Types == nil {
		d.note("Edges have directions: %d, of which %d go both ways.", out[0].NNZ(), 2*out[0].NNZ()-d.Adj.NNZ())
		return
	}
	var types []string
	for k, name := range d.By.Types {
		number := out[k].NNZ()
		if !d.By.Directed {
			number /= 2
		}
		types = append(types, fmt.Sprintf("%s (%d)", name, number))
	}
	directions := ""
	if d.By.Directed {
		directions = ", each in two directions"
	}
	d.note("Edges have %d types%s: %s.", len(types), directions, strings.Join(types, ", "))
}

// pairs are the entries of a matrix, with their values; nil of a pattern.
func pairs(adj *graph.CSR) (edges [][2]int32, values []float32) {
	for i := range adj.Rows {
		cols, _ := adj.Row(i)
		for _, j := range cols {
			edges = append(edges, [2]int32{int32(i), j})
		}
	}
	return edges, adj.Val
}

// Edges are the edges of a node as an arrival brings them.
type Edges struct {
	// To and From are the ids of the nodes that edges lead to, and of the nodes whose edges lead to the node. Where edges
	// have no directions, all neighbours are among the former.
	To, From []string
	// Types and Weights are those of the edges to, and then from; nil: edges have none. A neighbour by two types stands
	// twice.
	Types   []string
	Weights []float32
}

// Edges returns the edges of a node.
func (d *Dataset) Edges(node int32) (e Edges) {
	if !d.By.Relational() {
		_, weights := d.Adj.Row(int(node))
		return Edges{To: d.Neighbours(node), Weights: slices.Clone(weights)}
	}
	sides := d.By.Len() / max(1, len(d.By.Types))
	for side, ids := range []*[]string{&e.To, &e.From}[:sides] {
		if d.By.Arriving != 0 && d.By.Arriving>>side&1 == 0 {
			continue
		}
		for b := range d.Relations.Blocks(int(node), d.Nodes()) {
			if b.Slot%sides != side {
				continue
			}
			for k := b.Lo; k < b.Hi; k++ {
				*ids = append(*ids, d.IDs[int(d.Relations.ColIdx[k])-b.Slot*d.Nodes()])
				if d.By.Types != nil {
					e.Types = append(e.Types, d.By.Types[b.Slot/sides])
				}
				if d.Relations.Val != nil {
					e.Weights = append(e.Weights, d.Relations.Val[k])
				}
			}
		}
	}
	return e
}

// attachRelations is [Dataset.Attach] where edges have relations: R has the shares of the means, n×RN, and Known counts
// distinct neighbours. Edges among arrivals are not read.
func (d *Dataset) attachRelations(o *Original, nodes []int32) *attach.Batch {
	edges := d.Relations.CutSlots(nodes, o.Index, len(o.Nodes))
	if d.By.Arriving != 0 {
		edges = edges.Restrict(d.By.Leading(), len(o.Nodes))
	}
	b := &attach.Batch{X: d.X.Take(nodes), R: edges.Means(len(o.Nodes)), Known: make([]int32, len(nodes))}
	for k := range nodes {
		met := map[int32]bool{}
		cols, _ := b.R.Row(k)
		for _, j := range cols {
			met[j%int32(len(o.Nodes))] = true
		}
		b.Known[k] = int32(len(met))
	}
	return b
}
