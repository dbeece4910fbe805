package graph

import (
	"math"
	"slices"
)

// Bins divide edges by weight or by direction. An edge reads the tables of its bin: for bin k of m nodes these are rows
// k·m to (k+1)·m of the tables. Nil are the bins of a graph whose edges all weigh 1 and have no directions.
type Bins struct {
	// Directed says that bin 0 is of edges that lead from an arrival and bin 1 of those that lead to it; there are no
	// weights then.
	Directed bool `json:"directed,omitempty"`
	// Arriving are the directions that arrivals' edges have, as bits ([Outgoing]); edges of the other direction are not
	// read. 0: both.
	Arriving uint8 `json:"arriving,omitempty"`
	// Upper are the largest weights of the bins, ascending. A weight above the last is served by the last bin.
	Upper []float32 `json:"upper"`
	// Edges are the weights for which the tables are made: the weight-weighted mean of each bin.
	Edges []float32 `json:"edges"`
}

// NewBins returns at most n bins of about equal shares of all weight on the edges of a graph; nil where all weigh 1, or
// there are none.
func NewBins(adj *CSR, n int) *Bins {
	if len(adj.Val) == 0 {
		return nil
	}
	weights, total := slices.Sorted(slices.Values(adj.Val)), 0.0
	for _, w := range weights {
		total += float64(w)
	}
	b := &Bins{}
	var sum, within, squares float64
	for i, w := range weights {
		v := float64(w)
		sum, within, squares = sum+v, within+v, squares+v*v
		last := i+1 == len(weights)
		if last || weights[i+1] > w && sum >= total*float64(len(b.Upper)+1)/float64(n) {
			b.Upper, b.Edges = append(b.Upper, w), append(b.Edges, float32(squares/within))
			within, squares = 0, 0
		}
	}
	return b
}

// Len is the number of bins, 1 of nil.
func (b *Bins) Len() int {
	if b == nil {
		return 1
	}
	if b.Directed {
		return 2
	}
	return len(b.Upper)
}

// ByDirection reports whether edges are divided by direction.
func (b *Bins) ByDirection() bool { return b != nil && b.Directed }

// Of returns the bin of an edge.
func (b *Bins) Of(w float32) int {
	if b == nil {
		return 0
	}
	k, _ := slices.BinarySearch(b.Upper, w)
	return min(k, len(b.Upper)-1)
}

// Beyond reports whether a weight is above the largest weight of the last bin.
func (b *Bins) Beyond(w float32) bool { return b != nil && !b.Directed && w > b.Upper[len(b.Upper)-1] }

// Weights are the weights for which tables are made; none of nil.
func (b *Bins) Weights() []float32 {
	if b == nil {
		return nil
	}
	return b.Edges
}

// Shares are the shares of the edges' weight that the bins have. Of directions, where an edge counts by its share of a
// mean, they are the sums of the squared shares over the number of edges: an error in a table counts by these.
func (b *Bins) Shares(edges *CSR) []float32 {
	sums, total := make([]float64, b.Len()), 0.0
	for p, w := range edges.Val {
		if b.Directed {
			sums[2*int(edges.ColIdx[p])/edges.Cols] += float64(w) * float64(w)
			total++
			continue
		}
		sums[b.Of(w)] += float64(w)
		total += float64(w)
	}
	out := make([]float32, b.Len())
	for k, sum := range sums {
		out[k] = float32(sum / math.Max(total, math.SmallestNonzeroFloat64))
	}
	return out
}

// Spread puts edges to m nodes into the columns of their bins, n×(bins·m). Edges with directions are there already.
func (b *Bins) Spread(edges *CSR) *CSR {
	if b == nil || b.Directed {
		return edges
	}
	out := *edges
	out.Cols, out.ColIdx = b.Len()*edges.Cols, slices.Clone(edges.ColIdx)
	for p, w := range edges.Val {
		out.ColIdx[p] += int32(b.Of(w) * edges.Cols)
	}
	return &out
}
