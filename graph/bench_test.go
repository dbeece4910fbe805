package graph

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"
)

// spmmCase returns r = 1000 arrivals with about 40 entries each on 446 synthetic nodes, times k columns.
func spmmCase(k int) (*CSR, *Dense) {
	rng := rand.New(rand.NewPCG(1, 0))
	const rows, cols, nnz = 1000, 446, 40
	var entries []Edge
	for i := range int32(rows) {
		for range nnz {
			entries = append(entries, Edge{Row: i, Col: int32(rng.IntN(cols)), Val: rng.Float32()})
		}
	}
	x := NewDense(cols, k)
	for p := range x.Data {
		x.Data[p] = float32(rng.NormFloat64())
	}
	return NewCSR(rows, cols, entries), x
}

// BenchmarkSpMM measures sparse × dense side by side in one run: MulTo, then on one goroutine MulTo, the same with
// one Axpy a row, james-bowman/sparse (float64), and a product with the same matrix stored dense. k=15 is SGC's u0,
// u1 and c of 7 classes, k=70 label propagation's ten tables, k=512 a wide hidden layer. MulTo-x-faster is the time
// of a case divided by the time of MulTo.
func BenchmarkSpMM(b *testing.B) {
	for _, k := range []int{15, 70, 512} {
		m, x := spmmCase(k)
		dst := NewDense(m.Rows, k)
		madds := float64(m.NNZ() * k)
		var ours float64
		measure := func(name string, f func()) {
			b.Run(fmt.Sprintf("k=%d/%s", k, name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				each := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(madds/each/1e9, "Gmadd/s")
				b.ReportMetric(float64(m.Rows)/each, "rows/s")
				if name == "MulTo" {
					ours = each
				} else if ours > 0 {
					b.ReportMetric(each/ours, "MulTo-x-faster")
				}
			})
		}
		measure("MulTo", func() { MulTo(dst, m, x) })
		measure("one-goroutine", func() { mulRows(dst, m, x, 0, m.Rows) })
		measure("one-Axpy-a-row", func() { axpyRows(dst, m, x) })
		other, otherX := bowman(m, x)
		var otherDst mat.Dense
		otherDst.ReuseAs(m.Rows, k)
		measure("james-bowman", func() {
			otherDst.Zero()
			sparse.MulMatMat(false, 1, other, otherX, &otherDst)
		})
		if k <= 70 {
			full := densify(m)
			measure("dense-loop", func() { denseLoop(dst, full, x) })
		}
	}
}

func bowman(m *CSR, x *Dense) (*sparse.CSR, *mat.Dense) {
	cols, vals := make([]int, m.NNZ()), make([]float64, m.NNZ())
	for p, c := range m.ColIdx {
		cols[p], vals[p] = int(c), float64(m.Val[p])
	}
	wide := make([]float64, len(x.Data))
	for p, v := range x.Data {
		wide[p] = float64(v)
	}
	return sparse.NewCSR(m.Rows, m.Cols, m.RowPtr, cols, vals), mat.NewDense(x.Rows, x.Cols, wide)
}

func axpyRows(dst *Dense, m *CSR, x *Dense) {
	for i := range m.Rows {
		out := dst.Row(i)
		clear(out)
		cols, vals := m.Row(i)
		for p, c := range cols {
			Axpy(out, vals[p], x.Row(int(c)))
		}
	}
}

func denseLoop(dst, m, x *Dense) {
	for i := range m.Rows {
		out := dst.Row(i)
		clear(out)
		for j, v := range m.Row(i) {
			row := x.Row(j)
			for k := range out {
				out[k] += v * row[k]
			}
		}
	}
}

// BenchmarkAxpy measures the kernel at the widths that serving meets.
func BenchmarkAxpy(b *testing.B) {
	for _, k := range []int{7, 15, 70, 256} {
		x, y := make([]float32, k), make([]float32, k)
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			for b.Loop() {
				Axpy(y, 0.5, x)
			}
			b.ReportMetric(float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gmadd/s")
		})
	}
}
