package fit

import (
	"rivulet/graph"
	"rivulet/graph/gemm"
)

// mask drops each entry of a matrix independently; which, follows from the seed and the entry's index alone.
type mask struct {
	seed  uint64
	below uint64  // drop where a draw of 16 bits is below
	scale float32 // 1/(1−rate): kept entries stand for dropped ones ("inverted" dropout)
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

// maskedMatrix is a matrix in which a mask sets entries to 0, as dropout does. One block of rows at a time is written
// out, so that package gemm can multiply it in little memory.
type maskedMatrix struct {
	x    *graph.Dense
	mask mask
}

// blockRows is the number of rows of a block: as much as stays in a processor's cache, and enough for all cores.
const blockRows = 2048

// blocks calls f with every block of rows, from row lo on, in order. f must not keep it.
func (m maskedMatrix) blocks(f func(lo int, block *graph.Dense)) {
	cols := m.x.Cols
	buffer := make([]float32, min(blockRows, m.x.Rows)*cols)
	for lo := 0; lo < m.x.Rows; lo += blockRows {
		rows := min(blockRows, m.x.Rows-lo)
		block := &graph.Dense{Rows: rows, Cols: cols, Data: buffer[:rows*cols]}
		graph.ParallelRows(rows, 4*rows*cols, func(from, to int) {
			m.mask.dropTo(block.Data[from*cols:to*cols], m.x.Data[(lo+from)*cols:(lo+to)*cols], (lo+from)*cols)
		})
		f(lo, block)
	}
}

// dropTo sets dst to the entries x that stay, scaled, and 0 for the others; at is the index of the first.
func (m mask) dropTo(dst, x []float32, at int) {
	draw := m.draw(at)
	for k, v := range x {
		if (at+k)&3 == 0 {
			draw = m.draw(at + k)
		}
		dst[k] = v * m.scale * float32(m.bit(draw, at+k)) // not by a branch that cannot be predicted
	}
}

// rows is a view of n rows of m from row lo on.
func rows(m *graph.Dense, lo, n int) *graph.Dense {
	return &graph.Dense{Rows: n, Cols: m.Cols, Data: m.Data[lo*m.Cols : (lo+n)*m.Cols]}
}

// forward returns X·W.
func (m maskedMatrix) forward(w *graph.Dense) *graph.Dense {
	out := graph.NewDense(m.x.Rows, w.Cols)
	m.blocks(func(lo int, block *graph.Dense) {
		gemm.Add(rows(out, lo, block.Rows), 1, gemm.Of(block), gemm.Of(w))
	})
	return out
}

// adjoint returns Xᵀ·G.
func (m maskedMatrix) adjoint(g *graph.Dense) *graph.Dense {
	out := graph.NewDense(m.x.Cols, g.Cols)
	m.blocks(func(lo int, block *graph.Dense) {
		gemm.Add(out, 1, gemm.Of(block).T(), gemm.Of(rows(g, lo, block.Rows)))
	})
	return out
}

// timesTransposed is g·wᵀ, n×h, for g n×C and w h×C.
func timesTransposed(g, w *graph.Dense) *graph.Dense { return gemm.Mul(gemm.Of(g), gemm.Of(w).T()) }
