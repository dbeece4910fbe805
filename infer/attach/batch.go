package attach

import (
	"fmt"
	"math"

	"rivulet/graph"
)

// Row is one row of M: an original node's weights on the synthetic nodes. Known tells a node of T whose row is
// empty from an id that is not in T. Unread says that a lookup could not find out which: Known is false then, and
// the node is attached to as little as one that is not in T. Arrived says that a known node is an arrival that was
// given a row ([growth.Grower]).
type Row struct {
	Known   bool
	Unread  bool
	Arrived bool
	Edge    *Edge   // to the node; nil: nothing is said of it ([Attacher.Read])
	Cols    []int32 // ascending
	Vals    []float32
}

// Batch is n arrivals attached to a graph of m nodes: T (m = N) or S (m = N'). Results are the same whether its edges
// are in R or in Full.
type Batch struct {
	X     graph.Features // n×d raw features
	R     *graph.CSR     // n×m edges to the graph: a on T, r = aM on S; nil if in Full
	Full  *graph.Dense   // n×m: r if most of it is not zero; else nil
	Known []int32        // n: number of distinct known neighbours, also where M's rows are empty
	Adj   *graph.CSR     // n×n ã, symmetric with zero diagonal, 0/1 or weights; nil in a node batch
	// Weights are the sums of the weights of the edges to known neighbours, n; nil: each edge weighs 1.
	Weights []float32

	// Memory is used for the results; nil: they are allocated.
	Memory *Memory
}

// Len is the number of arrivals n.
func (b *Batch) Len() int { return len(b.Known) }

// Degree is deg_i: the weights of arrival i's true edges, to known neighbours and to neighbours in ã; their number
// where edges have no weights.
func (b *Batch) Degree(i int) float32 {
	deg := b.ToKnown(i)
	if b.Adj != nil {
		deg += b.Adj.RowSum(i)
	}
	return deg
}

// Neighbours is the number of arrival i's neighbours that the model reads: known ones and those in ã. What the edges
// weigh does not matter.
func (b *Batch) Neighbours(i int) int {
	n := int(b.Known[i])
	if b.Adj != nil {
		n += b.Adj.RowLen(i)
	}
	return n
}

// ToKnown is the part of Degree that comes of known neighbours.
func (b *Batch) ToKnown(i int) float32 {
	if b.Weights != nil {
		return b.Weights[i]
	}
	return float32(b.Known[i])
}

// Squares is about the sum of the squared weights of arrival i's edges to known neighbours, as if all had the mean
// weight: their number where edges have no weights.
func (b *Batch) Squares(i int) float32 {
	if b.Weights == nil || b.Known[i] == 0 {
		return float32(b.Known[i])
	}
	return b.Weights[i] * b.Weights[i] / float32(b.Known[i])
}

// Count sets Known and Weights of a batch on T by R = a.
func (b *Batch) Count() {
	b.Known = make([]int32, b.R.Rows)
	for i := range b.Known {
		b.Known[i] = int32(b.R.RowLen(i))
	}
	if b.R.Val != nil {
		b.Weights = b.R.RowSums()
	}
}

// InSlots returns a batch on T with each edge in the columns of its slot, as frozen tables of T are read.
func (b *Batch) InSlots(slots *graph.Slots) *Batch {
	out := *b
	if out.R = slots.Read(b.R); len(slots.Upper) > 0 {
		out.Weights = out.R.RowSums()
	}
	return &out
}

// InvSqrtDegrees returns (extra + deg_i)^-½: q_i = D_i^-½ for extra = 1; extra = 2 counts one neighbour more.
func (b *Batch) InvSqrtDegrees(extra float64) []float32 {
	q := b.Floats(b.Len())
	for i := range q {
		q[i] = float32(1 / math.Sqrt(extra+float64(b.Degree(i))))
	}
	return q
}

// Check panics on a batch that does not fit a graph of m nodes.
func (b *Batch) Check(m int) {
	n, nodes := b.shape()
	if nodes != m || len(b.Known) != n || b.X.Rows() != n || (b.Adj != nil && (b.Adj.Rows != n || b.Adj.Cols != n)) {
		among := "none"
		if b.Adj != nil {
			among = fmt.Sprintf("%d×%d", b.Adj.Rows, b.Adj.Cols)
		}
		panic(fmt.Sprintf("infer: batch of %d with %d degrees, ã of %s, %d feature rows and %d columns on a graph of %d "+
			"nodes",
			n, len(b.Known), among, b.X.Rows(), nodes, m))
	}
}

// shape is the shape of the edges to the graph.
func (b *Batch) shape() (n, m int) {
	if b.Full != nil {
		return b.Full.Rows, b.Full.Cols
	}
	return b.R.Rows, b.R.Cols
}

// WithoutEdges returns arrivals without edges to a graph of so many nodes.
func WithoutEdges(x graph.Features, nodes int) *Batch {
	n := x.Rows()
	return &Batch{X: x, R: &graph.CSR{Rows: n, Cols: nodes, RowPtr: make([]int, n+1)}, Known: make([]int32, n)}
}
