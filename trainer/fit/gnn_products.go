package fit

import (
	"runtime"

	"gonum.org/v1/gonum/blas/blas32"

	"rivulet/graph"
)

// The first layer is as wide as the hidden layer, and its products are what a fit takes its time for. All of them
// add multiples of rows of that width: those that gather rows by package graph's kernel, those that scatter by
// gonum's. Each row of a result is added up in one order, whatever the split.

// saxpy adds a·x to y.
func saxpy(a float32, x, y []float32) {
	blas32.Implementation().Saxpy(len(y), a, x, 1, y, 1)
}

// wideMulT returns mᵀ·g without a transpose: each goroutine adds to rows of the result of its own. m must have
// values.
func wideMulT(m *graph.CSR, g *graph.Dense) *graph.Dense {
	out := graph.NewDense(m.Cols, g.Cols)
	byColumns(m.Cols, m.NNZ()*g.Cols, func(lo, hi int) {
		for i := range m.Rows {
			row := g.Row(i)
			cols, vals := m.Row(i)
			for p, c := range cols {
				if int(c) >= lo && int(c) < hi {
					saxpy(vals[p], row, out.Row(int(c)))
				}
			}
		}
	})
	return out
}

// byColumns splits n columns among the processors: few ranges, because every one of them looks at every row.
func byColumns(n, work int, f func(lo, hi int)) {
	ranges := min(n, 2*runtime.GOMAXPROCS(0))
	graph.ParallelRows(ranges, work, func(lo, hi int) { f(lo*n/ranges, hi*n/ranges) })
}

// mask drops each entry of a matrix independently; which, follows from the seed and the entry's index alone.
type mask struct {
	seed  uint64
	below uint64  // drop where a draw of 16 bits is below
	scale float32 // 1/(1−rate): what is kept stands for what is not ("inverted" dropout)
}

// newMask drops the given share of entries, 0 ≤ rate < 1.
func newMask(rate float64, seed uint64) mask {
	below := uint64(rate*(1<<16) + 0.5)
	return mask{seed: mix(seed), below: below, scale: float32((1 << 16) / float64((1<<16)-below))}
}

// keeps is 1 where entry k stays, 0 where it is dropped. Four neighbouring entries share one draw.
func (m mask) keeps(k int) int { return m.bit(m.draw(k), k) }

// draw returns the random bits of entry k and its neighbours, from a multiple of four to the next.
func (m mask) draw(k int) uint64 { return mix(m.seed + uint64(k)>>2*golden) }

func (m mask) bit(draw uint64, k int) int {
	return int((draw>>(uint(k)&3*16)&0xffff-m.below)>>63) ^ 1
}

const golden = 0x9e3779b97f4a7c15

// mix is the output function of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
// Generators", 2014), a generator that can be read at any place.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// drop leaves out entries of a sparse matrix that has values.
func (m mask) drop(x *graph.CSR) *graph.CSR {
	out := &graph.CSR{Rows: x.Rows, Cols: x.Cols, RowPtr: make([]int, x.Rows+1),
		ColIdx: make([]int32, x.NNZ()+1), Val: make([]float32, x.NNZ()+1)} // one more: written to, never kept
	kept := 0
	for i := range x.Rows {
		for k := x.RowPtr[i]; k < x.RowPtr[i+1]; k++ {
			out.ColIdx[kept], out.Val[kept] = x.ColIdx[k], x.Val[k]*m.scale
			kept += m.keeps(k) // no branch that cannot be predicted
		}
		out.RowPtr[i+1] = kept
	}
	out.ColIdx, out.Val = out.ColIdx[:kept], out.Val[:kept]
	return out
}

// matrix is an explicit matrix of which a mask may leave entries out; the masked one is never stored.
type matrix struct {
	x    *graph.Dense
	mask *mask // nil: all of x
}

// kept appends the columns lo…hi of row i that stay, and their values.
func (m matrix) kept(cols []int32, vals []float32, i, lo, hi int) ([]int32, []float32) {
	cols, vals = cols[:hi-lo], vals[:hi-lo]
	row := m.x.Row(i)[lo:hi]
	if m.mask == nil {
		for k := range row {
			cols[k] = int32(lo + k)
		}
		copy(vals, row)
		return cols, vals
	}
	n, at := 0, i*m.x.Cols+lo
	for k, v := range row {
		cols[n], vals[n] = int32(lo+k), v*m.mask.scale
		n += m.mask.keeps(at + k)
	}
	return cols[:n], vals[:n]
}

// panel is the number of rows of W that a pass over the rows of X meets, so that they stay in the processor's
// cache.
const panel = 128

// forward returns X·W.
func (m matrix) forward(w *graph.Dense) *graph.Dense {
	out := graph.NewDense(m.x.Rows, w.Cols)
	graph.ParallelRows(m.x.Rows, m.x.Rows*m.x.Cols*w.Cols, func(lo, hi int) {
		colBuf, valBuf := make([]int32, panel), make([]float32, panel)
		for first := 0; first < m.x.Cols; first += panel {
			for i := lo; i < hi; i++ {
				cols, vals := m.kept(colBuf, valBuf, i, first, min(first+panel, m.x.Cols))
				graph.AddRows(out.Row(i), cols, vals, w)
			}
		}
	})
	return out
}

// adjoint returns Xᵀ·G.
func (m matrix) adjoint(g *graph.Dense) *graph.Dense {
	out := graph.NewDense(m.x.Cols, g.Cols)
	byColumns(m.x.Cols, m.x.Rows*m.x.Cols*g.Cols, func(lo, hi int) {
		colBuf, valBuf := make([]int32, hi-lo), make([]float32, hi-lo)
		for i := range m.x.Rows {
			cols, vals := m.kept(colBuf, valBuf, i, lo, hi)
			for p, k := range cols {
				saxpy(vals[p], g.Row(i), out.Row(int(k)))
			}
		}
	})
	return out
}
