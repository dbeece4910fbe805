package dataset

import (
	"fmt"
	"math"
	"slices"

	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/target"
)

// arrayOfWeights is the setting of the column of weights by which layouts of arrays keep the values of their adjacency
// matrix: its array data, adj_data in an archive.
const arrayOfWeights = "data"

// layoutSettings returns an error if settings of tables say something about a layout of arrays that it has not.
func layoutSettings(t table.Settings) error {
	if err := t.CheckDirections(); err != nil {
		return err
	}
	rest := t
	rest.DropWeights, rest.Directed, rest.Task = false, false, "" // Open refuses tasks that the layout does not have
	if rest.Weight == arrayOfWeights && !t.DropWeights {
		rest.Weight = ""
	}
	if t.EdgeType != "" {
		return fmt.Errorf("edge types (--edge-type %s) are a column of a table of edges, which the layout has not",
			t.EdgeType)
	}
	if !rest.IsZero() || rest.DropUnknown {
		return fmt.Errorf("what is said about columns is for tables; of this layout --weight %s keeps the weights of edges, "+
			"and --drop-weights reads each as 1", arrayOfWeights)
	}
	return nil
}

// keepWeights makes a read adjacency matrix the data's, with its weights.
func (d *Dataset) keepWeights(adj *graph.CSR) error {
	edges, weights, loops := make([][2]int32, 0, adj.NNZ()), make([]float32, 0, adj.NNZ()), 0
	for i := range adj.Rows {
		cols, vals := adj.Row(i)
		for p, j := range cols {
			w := float32(1)
			if vals != nil {
				w = vals[p]
			}
			if err := table.CheckWeight(float64(w)); err != nil {
				return fmt.Errorf("array %s: edge %d–%d: %w", arrayOfWeights, i, j, err)
			}
			if int(j) == i {
				loops++
				continue
			}
			edges, weights = append(edges, [2]int32{int32(i), j}), append(weights, w)
		}
	}
	d.Adj = weighted(d, adj.Rows, edges, weights, loops)
	return nil
}

// Facts says what the data have, for what is asked of them ([target.Capability.Check]).
func (d *Dataset) Facts() target.Data {
	return target.Data{Task: d.Task, Weights: d.Adj.Val != nil, Types: d.By.Types != nil, Directions: d.By.Directed,
		NodeTypes: d.NodeTypes != nil}
}

// weighted builds the adjacency matrix of undirected edges with weights. The weights of an edge that is given several
// times in one direction are added up, as of interactions that are listed one by one; of two directions the larger
// weight counts, so that a symmetric list means the same as one of its halves. Where all weights are 1 the edges have
// none.
func weighted(d *Dataset, n int, edges [][2]int32, weights []float32, loops int) *graph.CSR {
	if !slices.ContainsFunc(weights, func(w float32) bool { return w != 1 }) { // nil, too
		return undirected(d, n, edges, loops)
	}
	entries := make([]graph.Edge, len(edges))
	for k, e := range edges {
		entries[k] = graph.Edge{Row: e[0], Col: e[1], Val: weights[k]}
	}
	adj := symmetric(graph.NewCSR(n, n, entries))
	d.noteMerged(len(edges), adj, loops)
	sum := 0.0
	for _, w := range adj.Val {
		sum += float64(w)
	}
	d.note("Edges have weights, from %g to %g, %.3g in the mean.", slices.Min(adj.Val), slices.Max(adj.Val),
		sum/float64(adj.NNZ()))
	adj.DropOnes()
	return adj
}

// symmetric returns the matrix of edges that go both ways, with the larger weight of both directions.
func symmetric(there *graph.CSR) *graph.CSR {
	back := there.Transpose()
	var both []graph.Edge
	for i := range there.Rows {
		cols, vals := there.Row(i)
		others, backwards := back.Row(i)
		for p, j := range cols {
			w := min(vals[p], math.MaxFloat32)
			if at, found := slices.BinarySearch(others, j); found {
				w = max(w, min(backwards[at], math.MaxFloat32))
			} else {
				both = append(both, graph.Edge{Row: j, Col: int32(i), Val: w})
			}
			both = append(both, graph.Edge{Row: int32(i), Col: j, Val: w})
		}
	}
	return graph.NewCSR(there.Rows, there.Rows, both)
}
