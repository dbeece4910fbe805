package dataset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/attach"
)

// weightsBesideRelations returns the error of data that are to keep weights, and types or directions beside them.
func weightsBesideRelations(t table.Settings) error {
	what := "directions are to be kept (--directed): a mean for each direction"
	if t.EdgeType != "" {
		what = "types are to be kept (--edge-type " + t.EdgeType + "): a mean for each type"
	}
	return errors.New("edges have weights, and " + what + " counts its edges alike; --drop-weights reads each as 1")
}

// keepRelations keeps the types and directions of edges, as the settings say. Edges lead from the first node to the
// second. Edges of a node to itself are left out, and repeated ones of a type count once. kinds are the types of the
// edges, nil of none.
func (d *Dataset) keepRelations(n int, edges [][2]int32, kinds []string, t table.Settings) error {
	by := &graph.Bins{Directed: t.Directed,
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
		if entries[of] = append(entries[of], graph.Edge{Row: e[0], Col: e[1], Val: 1}); !by.Directed {
			entries[of] = append(entries[of], graph.Edge{Row: e[1], Col: e[0], Val: 1})
		}
	}
	var out []*graph.CSR
	for _, of := range entries {
		adj := graph.NewCSR(n, n, of)
		adj.Val = nil
		out = append(out, adj)
	}
	d.Relate(by, out...)
	d.noteRelations(out)
	return nil
}

// Relate makes relations of the edges of each type: row i of out[t] has the nodes that edges of type t lead to from
// node i, or where edges have no directions its neighbours.
func (d *Dataset) Relate(by *graph.Bins, out ...*graph.CSR) {
	all := out
	if by.Directed {
		all = nil
		for _, adj := range out {
			all = append(all, adj, adj.Transpose())
		}
	}
	d.By, d.Relations = by, graph.NewRelations(all...)
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

// RequireNoRelations returns an error where the types or directions of edges are kept, which a capability does not
// read.
func (d *Dataset) RequireNoRelations(capability string) error {
	switch {
	case d.By == nil:
		return nil
	case d.By.Types != nil:
		return fmt.Errorf("edges have types, which %s does not read; without --edge-type all are of one", capability)
	}
	return fmt.Errorf("edges have directions, which %s does not read; without --directed each goes both ways", capability)
}

// Edges are the edges of a node as an arrival brings them.
type Edges struct {
	// To and From are the ids of the nodes that edges lead to, and of the nodes whose edges lead to the node. Where edges
	// have no directions, all neighbours are among the former.
	To, From []string
	// Types are the types of the edges to, and then from; nil: edges have none. A neighbour by two types stands twice.
	Types []string
}

// Edges returns the edges of a node.
func (d *Dataset) Edges(node int32) (e Edges) {
	if d.By == nil {
		return Edges{To: d.Neighbours(node)}
	}
	var types [2][]string
	sides := d.By.Len() / max(1, len(d.By.Types))
	for r, cols := range d.Relations.ByRelation(int(node), d.Nodes()) {
		side := r % sides
		if d.By.Arriving != 0 && d.By.Arriving>>side&1 == 0 {
			continue
		}
		ids := [2]*[]string{&e.To, &e.From}[side]
		for _, j := range cols {
			*ids = append(*ids, d.IDs[int(j)-r*d.Nodes()])
			if d.By.Types != nil {
				types[side] = append(types[side], d.By.Types[r/sides])
			}
		}
	}
	e.Types = slices.Concat(types[0], types[1])
	return e
}

// attachRelations is [Dataset.Attach] where edges have relations: R has the shares of the means, n×RN, and Known counts
// distinct neighbours. Edges among arrivals are not read.
func (d *Dataset) attachRelations(o *Original, nodes []int32) *attach.Batch {
	b := &attach.Batch{X: d.X.Take(nodes), R: d.Relations.CutRelations(nodes, o.Index, len(o.Nodes)),
		Known: make([]int32, len(nodes))}
	if d.By.Arriving != 0 {
		b.R = b.R.Restrict(d.By.Leading(), len(o.Nodes))
	}
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

// cutRelations are the relations among some nodes, which index numbers; nil where edges have none.
func (d *Dataset) cutRelations(nodes, index []int32) *graph.CSR {
	if d.By == nil {
		return nil
	}
	return d.Relations.CutRelations(nodes, index, len(nodes))
}
