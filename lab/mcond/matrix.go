package mcond

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"rivulet/graph"
	kernel "rivulet/graph/gemm"
	"rivulet/trainer/descent"
)

// number is the type that the kernels compute in: float32 in a run (gonum's products are 1.7 times as fast in it),
// float64 in the tests, where gradients are compared with finite differences.
type number interface{ float32 | float64 }

// matrix is an r×c matrix in row-major order.
type matrix[F number] struct {
	rows, cols int
	data       []F
}

func newMatrix[F number](r, c int) *matrix[F] { return &matrix[F]{r, c, make([]F, r*c)} }

// view lays an r×c matrix over the first r*c values of data.
func view[F number](data []F, r, c int) *matrix[F] { return &matrix[F]{r, c, data[: r*c : r*c]} }

// row returns row i as a view.
func (m *matrix[F]) row(i int) []F { return m.data[i*m.cols : (i+1)*m.cols : (i+1)*m.cols] }

// slice returns rows lo…hi as a view.
func (m *matrix[F]) slice(lo, hi int) *matrix[F] {
	return &matrix[F]{hi - lo, m.cols, m.data[lo*m.cols : hi*m.cols]}
}

// dense copies a matrix into float32.
func (m *matrix[F]) dense() *graph.Dense {
	out := graph.NewDense(m.rows, m.cols)
	for k, v := range m.data {
		out.Data[k] = float32(v)
	}
	return out
}

const (
	plain      = blas.NoTrans
	transposed = blas.Trans
)

// gemm sets c = alpha·op(a)·op(b) + beta·c, beta 0 or 1: in float32 by the kernels of package gemm, in float64, for
// tests against finite differences, by gonum's. The bits do not hang on the number of processors.
func gemm[F number](ta, tb blas.Transpose, alpha F, a, b *matrix[F], beta F, c *matrix[F]) {
	if c.rows == 0 || c.cols == 0 {
		return
	}
	switch data := any(c.data).(type) {
	case []float32:
		out := &graph.Dense{Rows: c.rows, Cols: c.cols, Data: data}
		switch {
		case beta == 0:
			clear(data)
		case beta != 1:
			panic(fmt.Sprintf("mcond: product added to %v times a matrix", beta))
		}
		kernel.Add(out, float32(alpha), view32(ta, a), view32(tb, b))
	case []float64:
		blas64.Gemm(ta, tb, float64(alpha), general64(a), general64(b), float64(beta),
			blas64.General{Rows: c.rows, Cols: c.cols, Stride: c.cols, Data: data})
	default:
		panic(fmt.Sprintf("mcond: product of %T", c.data))
	}
}

// view32 is op(m) of a matrix of float32.
func view32[F number](op blas.Transpose, m *matrix[F]) kernel.View {
	data, _ := any(m.data).([]float32)
	v := kernel.Of(&graph.Dense{Rows: m.rows, Cols: m.cols, Data: data})
	if op == transposed {
		return v.T()
	}
	return v
}

func general64[F number](m *matrix[F]) blas64.General {
	data, _ := any(m.data).([]float64)
	return blas64.General{Rows: m.rows, Cols: m.cols, Stride: max(1, m.cols), Data: data}
}

// sparseTo sets dst = m·x, or adds to it, for a sparse m in which a missing Val means ones.
func sparseTo[F number](dst *matrix[F], m *graph.CSR, x *matrix[F], add bool) {
	graph.ParallelRows(m.Rows, m.NNZ()*x.cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out := dst.row(i)
			if !add {
				clear(out)
			}
			cols, vals := m.Row(i)
			for p, j := range cols {
				if vals == nil {
					addTo(out, x.row(int(j)))
				} else {
					axpy(out, F(vals[p]), x.row(int(j)))
				}
			}
		}
	})
}

func axpy[F number](y []F, a F, x []F) {
	x = x[:len(y)]
	for k := range y {
		y[k] += a * x[k]
	}
}

func addTo[F number](y, x []F) {
	x = x[:len(y)]
	for k := range y {
		y[k] += x[k]
	}
}

func dot[F number](x, y []F) F {
	y = y[:len(x)]
	sum := F(0)
	for k := range x {
		sum += x[k] * y[k]
	}
	return sum
}

// scaleRows sets dst = diag(by)·x.
func scaleRows[F number](dst *matrix[F], by []F, x *matrix[F]) {
	for i, a := range by {
		out, in := dst.row(i), x.row(i)
		for k := range out {
			out[k] = a * in[k]
		}
	}
}

func sigmoid[F number](x F) F { return F(1 / (1 + math.Exp(-float64(x)))) }

// crossEntropyErrors turns logits into softmax − onehot and returns Σ −log p of the classes.
func crossEntropyErrors[F number](logits *matrix[F], labels []int32) float64 {
	loss := 0.0
	for i, y := range labels {
		loss += descent.CrossEntropy(logits.row(i), int(y))
	}
	return loss
}

// addBias adds b to every row.
func addBias[F number](m *matrix[F], b []F) {
	for i := range m.rows {
		addTo(m.row(i), b)
	}
}
