package infer

import (
	"fmt"
	"math"

	"rivulet/graph"
)

// Row is one row of M: an original node's weights on the synthetic nodes. Known tells a node of T whose row is empty
// from an id that is not in T. Unread says that a lookup could not find out which: Known is false then, and the node is
// attached to as little as one that is not in T. Arrived says that a known node is an arrival that was given a row ([Grower]).
type Row struct {
	Known   bool
	Unread  bool
	Arrived bool
	Cols    []int32 // ascending
	Vals    []float32
}

// Batch is n arrivals attached to a graph of m nodes: T (m = N) or S (m = N').
type Batch struct {
	X     graph.Features // n×d raw features
	R     *graph.CSR     // n×m edges to the graph: a on T, r = aM on S
	Known []int32        // n: number of distinct known neighbours, also where M's rows are empty
	Adj   *graph.CSR     // n×n ã, symmetric 0/1 with zero diagonal; nil in a node batch
}

// Len is the number of arrivals n.
func (b *Batch) Len() int { return b.R.Rows }

// degree is deg_i: the true edges of arrival i, known neighbours and neighbours in ã.
func (b *Batch) degree(i int) float32 {
	deg := float32(b.Known[i])
	if b.Adj != nil {
		deg += float32(b.Adj.RowLen(i))
	}
	return deg
}

// invSqrtDegrees returns q_i = D_i^-½, D_i = 1 + deg_i.
func (b *Batch) invSqrtDegrees() []float32 {
	q := make([]float32, b.Len())
	for i := range q {
		q[i] = float32(1 / math.Sqrt(1+float64(b.degree(i))))
	}
	return q
}

// check panics on a batch that does not fit a graph of m nodes.
func (b *Batch) check(m int) {
	n := b.R.Rows
	if b.R.Cols != m || len(b.Known) != n || b.X.Rows() != n || (b.Adj != nil && (b.Adj.Rows != n || b.Adj.Cols != n)) {
		among := "none"
		if b.Adj != nil {
			among = fmt.Sprintf("%d×%d", b.Adj.Rows, b.Adj.Cols)
		}
		panic(fmt.Sprintf("infer: batch of %d with %d degrees, ã of %s, %d feature rows and %d columns on a graph of %d nodes",
			n, len(b.Known), among, b.X.Rows(), b.R.Cols, m))
	}
}

// Attach computes r = aM (n×N', paper's Eq. 11) and the number of known neighbours from the rows of M of each arrival's
// distinct neighbours; unknown neighbours are skipped. The entries of a row of r stand in the order in which their
// columns were first met, so that a row of r depends on its own arrival alone.
func Attach(neighbours [][]Row, synthetic int) (r *graph.CSR, known []int32) {
	entries := 0 // before equal columns are added up
	for _, rows := range neighbours {
		for _, row := range rows {
			entries += len(row.Cols)
		}
	}
	r = &graph.CSR{Rows: len(neighbours), Cols: synthetic, RowPtr: make([]int, len(neighbours)+1),
		ColIdx: make([]int32, 0, entries), Val: make([]float32, 0, entries)}
	known = make([]int32, len(neighbours))
	place := make([]int32, synthetic) // 1 + position in the row under way, 0 where the column is not in it
	for i, rows := range neighbours {
		start := len(r.ColIdx)
		for _, row := range rows {
			if !row.Known {
				continue
			}
			known[i]++
			for p, c := range row.Cols {
				if at := place[c]; at > 0 {
					r.Val[start+int(at)-1] += row.Vals[p]
					continue
				}
				r.ColIdx = append(r.ColIdx, c)
				r.Val = append(r.Val, row.Vals[p])
				place[c] = int32(len(r.ColIdx) - start)
			}
		}
		for _, c := range r.ColIdx[start:] {
			place[c] = 0
		}
		r.RowPtr[i+1] = len(r.ColIdx)
	}
	return r, known
}
