package mcond

import (
	"math"

	"rivulet/graph"
)

// transductive is L_tra (the paper's Eq. 10): the mean row norm of H − MH' over T's nodes, in logits of the relay.
type transductive[F number] struct {
	want  *matrix[F] // H, N×C
	rest  *matrix[F] // N×C
	norms []float64  // N
}

func newTransductive[F number](n, classes int) *transductive[F] {
	return &transductive[F]{newMatrix[F](n, classes), newMatrix[F](n, classes), make([]float64, n)}
}

// loss returns L_tra and sets grad = ∂L_tra/∂M (N×m). h is H', m×C.
func (t *transductive[F]) loss(mapping, h, grad *matrix[F]) float64 {
	copy(t.rest.data, t.want.data)
	gemm(plain, plain, -1, mapping, h, 1, t.rest)
	loss := meanRowNorm(t.rest, t.norms)
	gemm(plain, transposed, -1, t.rest, h, 0, grad)
	return loss
}

// meanRowNorm returns the mean of the rows' norms and turns the rows into its gradient: unit rows over their
// number. A zero row has the gradient 0. norms is work space for as many rows.
func meanRowNorm[F number](rest *matrix[F], norms []float64) float64 {
	n := float64(rest.rows)
	graph.ParallelRows(rest.rows, 4*len(rest.data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := rest.row(i)
			norm := 0.0
			for _, v := range row {
				norm += float64(v) * float64(v)
			}
			norm = math.Sqrt(norm)
			norms[i] = norm
			if norm == 0 {
				continue
			}
			by := F(1 / (norm * n))
			for k := range row {
				row[k] *= by
			}
		}
	})
	sum := 0.0
	for _, v := range norms[:rest.rows] {
		sum += v
	}
	return sum / math.Max(1, n)
}
