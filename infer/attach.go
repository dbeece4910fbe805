package infer

import (
	"math/bits"

	"rivulet/graph"
)

// Attach sets the edges to S of arrivals whose distinct neighbours have these rows of M: r = aM (n×N', paper's Eq.
// 11), in Full where about all columns are met in most rows, as on a small S where arrivals have many neighbours,
// and in R else; and Known. r is that of the function of this name, bit for bit.
func (b *Batch) Attach(neighbours [][]Row, synthetic int) {
	if meetMost(neighbours, synthetic) {
		b.R = nil
		b.Full, b.Known = attachFull(neighbours, synthetic)
		return
	}
	b.Full = nil
	b.R, b.Known = Attach(neighbours, synthetic)
}

// meetMost tells whether arrivals have about as many entries of M as S has nodes, or more. Of many arrivals some
// stand for all.
func meetMost(neighbours [][]Row, synthetic int) bool {
	const some = 64
	met, room := 0, 0
	for i := 0; i < len(neighbours); i += 1 + len(neighbours)/some {
		entries := 0
		for k := range neighbours[i] {
			entries += len(neighbours[i][k].Cols)
		}
		met += min(entries, synthetic)
		room += synthetic
	}
	return 4*met >= 3*room && room > 0
}

// attachFull is Attach in full.
func attachFull(neighbours [][]Row, synthetic int) (r *graph.Dense, known []int32) {
	n := len(neighbours)
	r, known = graph.NewDense(n, synthetic), make([]int32, n)
	graph.ParallelRows(n, attachWork*n*synthetic, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums := r.Row(i)
			for k := range neighbours[i] {
				row := &neighbours[i][k]
				if !row.Known {
					continue
				}
				known[i]++
				vals := row.Vals[:len(row.Cols)]
				for p, c := range row.Cols {
					sums[c] += vals[p]
				}
			}
		}
	})
	return r, known
}

// Attach computes r = aM (n×N', paper's Eq. 11) and the number of known neighbours from the rows of M of each
// arrival's distinct neighbours; unknown neighbours are skipped. A row of r has ascending columns; its sums are
// taken in the order of the neighbours, so that they depend on the arrival alone.
func Attach(neighbours [][]Row, synthetic int) (r *graph.CSR, known []int32) {
	n := len(neighbours)
	known = make([]int32, n)
	// Where each row of r may begin: r is a fraction of what is added up, where arrivals have many neighbours.
	begin, length := make([]int, n+1), make([]int, n)
	met := 0
	for _, rows := range neighbours {
		met += len(rows)
	}
	graph.ParallelRows(n, met, func(lo, hi int) {
		set := newColumns(synthetic)
		for i := lo; i < hi; i++ {
			entries := 0
			for k := range neighbours[i] {
				if row := &neighbours[i][k]; row.Known {
					known[i]++
					entries += len(row.Cols)
				}
			}
			if entries > synthetic/2 { // many are equal
				entries = set.count(neighbours[i])
			}
			begin[i+1] = entries
		}
	})
	for i := range n {
		begin[i+1] += begin[i]
	}
	r = &graph.CSR{Rows: n, Cols: synthetic, ColIdx: make([]int32, begin[n]), Val: make([]float32, begin[n])}
	graph.ParallelRows(n, attachWork*begin[n], func(lo, hi int) {
		set, sums := newColumns(synthetic), make([]float32, synthetic)
		for i := lo; i < hi; i++ {
			for k := range neighbours[i] {
				if row := &neighbours[i][k]; row.Known {
					set.add(row.Cols, row.Vals, sums)
				}
			}
			length[i] = set.take(r.ColIdx[begin[i]:begin[i+1]], r.Val[begin[i]:begin[i+1]], sums)
		}
	})
	end := 0 // rows move up to where the one before ends
	for i, n := range length {
		from := begin[i]
		copy(r.ColIdx[end:], r.ColIdx[from:from+n])
		copy(r.Val[end:], r.Val[from:from+n])
		begin[i] = end
		end += n
	}
	begin[n] = end
	r.RowPtr, r.ColIdx, r.Val = begin, r.ColIdx[:end], r.Val[:end]
	return r, known
}

// attachWork is what an entry costs to attach, in multiply-adds of a product.
const attachWork = 8

// columns is a set of column numbers, a bit each: adding to it never branches, and it is read in ascending order.
type columns []uint64

func newColumns(n int) columns { return make(columns, (n+63)/64) }

// add adds columns, and their values to the sums.
func (s columns) add(cols []int32, vals, sums []float32) {
	vals = vals[:len(cols)]
	for p, c := range cols {
		s[uint32(c)/64] |= 1 << (uint32(c) % 64)
		sums[c] += vals[p]
	}
}

// count is the number of distinct columns of rows of M. It leaves the set empty.
func (s columns) count(rows []Row) int {
	for k := range rows {
		if rows[k].Known {
			for _, c := range rows[k].Cols {
				s[uint32(c)/64] |= 1 << (uint32(c) % 64)
			}
		}
	}
	n := 0
	for k, word := range s {
		n += bits.OnesCount64(word)
		s[k] = 0
	}
	return n
}

// take moves the columns and their sums to cols and vals and returns how many there are. It leaves the set empty
// and the sums 0.
func (s columns) take(cols []int32, vals, sums []float32) int {
	n := 0
	for k, word := range s {
		for ; word != 0; word &= word - 1 {
			c := 64*k + bits.TrailingZeros64(word)
			cols[n], vals[n] = int32(c), sums[c]
			sums[c] = 0
			n++
		}
		s[k] = 0
	}
	return n
}
