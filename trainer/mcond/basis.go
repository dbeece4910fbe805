package mcond

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/trainer/features"
)

const (
	// extraDirections are followed beside those that are wanted, so that the last of these settle (Halko, Martinsson and
	// Tropp, "Finding Structure with Randomness", 2011, section 4.2).
	extraDirections = 10
	// basisPasses over XᵀX: each sharpens the basis by the square of the ratio of singular values.
	basisPasses = 3
	// rankTolerance is the share of the largest eigenvalue of a Gram matrix below which a direction is rounding.
	rankTolerance = 1e-10
)

// principalBasis is V (d×p'), the p' ≤ p leading right singular vectors of pre(X), orthonormal: subspace iteration from a
// random start. nil where pre(X) has no more than p columns: the features as they are.
func principalBasis(x *features.Factored, p int, rng *rand.Rand) *graph.Dense {
	d := len(x.Factor)
	if p <= 0 || d <= p {
		return nil
	}
	v := graph.NewDense(d, min(d, p+extraDirections))
	for k := range v.Data {
		v.Data[k] = float32(rng.NormFloat64())
	}
	var xt *graph.CSR
	if x.Raw.Sparse != nil {
		xt = x.Raw.Sparse.Transpose()
	}
	v = orthonormal(v, v.Cols)
	for range basisPasses {
		v = orthonormal(adjoint(x, xt, forward(x, v)), v.Cols)
	}
	// Rayleigh-Ritz: within the subspace, the directions of the largest ‖Xv‖.
	vectors, _ := gramEigen(forward(x, v))
	return times(v, vectors, min(p, v.Cols))
}

// forward is pre(X)·V, N×l.
func forward(x *features.Factored, v *graph.Dense) *graph.Dense {
	folded, shift := graph.NewDense(v.Rows, v.Cols), make([]float32, v.Cols)
	for k := range v.Rows {
		graph.Axpy(folded.Row(k), x.Factor[k], v.Row(k))
		graph.Axpy(shift, x.Offset[k], v.Row(k))
	}
	var out *graph.Dense
	if x.Raw.Sparse != nil {
		out = graph.Mul(x.Raw.Sparse, folded)
	} else {
		out = graph.NewDense(x.Raw.Dense.Rows, v.Cols)
		gemm(plain, plain, 1, over(x.Raw.Dense), over(folded), 0, over(out))
	}
	for i := range out.Rows {
		graph.Axpy(out.Row(i), -1, shift)
	}
	return out
}

// adjoint is pre(X)ᵀ·Y, d×l; xt is the transpose of sparse raw features.
func adjoint(x *features.Factored, xt *graph.CSR, y *graph.Dense) *graph.Dense {
	sum := make([]float32, y.Cols)
	for i := range y.Rows {
		graph.Add(sum, y.Row(i))
	}
	var out *graph.Dense
	if xt != nil {
		out = graph.Mul(xt, y)
	} else {
		out = graph.NewDense(x.Raw.Dense.Cols, y.Cols)
		gemm(transposed, plain, 1, over(x.Raw.Dense), over(y), 0, over(out))
	}
	for k := range out.Rows {
		row := out.Row(k)
		for c := range row {
			row[c] = x.Factor[k]*row[c] - x.Offset[k]*sum[c]
		}
	}
	return out
}

// over lays a matrix over the memory of a float32 one.
func over(m *graph.Dense) *matrix[float32] { return &matrix[float32]{m.Rows, m.Cols, m.Data} }

// gramEigen are the eigenvectors and eigenvalues of YᵀY, largest first.
func gramEigen(y *graph.Dense) (vectors *mat.Dense, values []float64) {
	n := y.Cols
	wide := converted[float64](y)
	gram := newMatrix[float64](n, n)
	gemm(transposed, plain, 1, wide, wide, 0, gram)
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(n, gram.data), true) {
		panic("mcond: the eigenvalues of a Gram matrix did not converge") // not for finite features
	}
	var ascending mat.Dense
	eigen.VectorsTo(&ascending)
	values, vectors = make([]float64, n), mat.NewDense(n, n, nil)
	for k, value := range eigen.Values(nil) {
		values[n-1-k] = value
		for i := range n {
			vectors.Set(i, n-1-k, ascending.At(i, k))
		}
	}
	return vectors, values
}

// orthonormal spans the columns of y, without directions that are rounding, by at most p orthonormal columns.
func orthonormal(y *graph.Dense, p int) *graph.Dense {
	vectors, values := gramEigen(y)
	rank := 0
	for rank < p && values[rank] > rankTolerance*values[0] {
		by := 1 / math.Sqrt(values[rank])
		for i := range vectors.RawMatrix().Rows {
			vectors.Set(i, rank, by*vectors.At(i, rank))
		}
		rank++
	}
	return times(y, vectors, rank)
}

// times is y·(the first p columns of v).
func times(y *graph.Dense, v *mat.Dense, p int) *graph.Dense {
	right := graph.NewDense(y.Cols, p)
	for i := range right.Rows {
		for k := range p {
			right.Row(i)[k] = float32(v.At(i, k))
		}
	}
	out := graph.NewDense(y.Rows, p)
	gemm(plain, plain, 1, over(y), over(right), 0, over(out))
	return out
}
