package features

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"rivulet/graph"
	"rivulet/graph/gemm"
)

// rankTolerance is the share of the largest eigenvalue of a Gram matrix below which a direction is rounding.
const rankTolerance = 1e-10

// Principal finds leading singular vectors of a matrix B (r×c) that is given by its products forward (B·V) and adjoint
// (Bᵀ·Y): the randomized singular value decomposition of Halko, Martinsson and Tropp ("Finding Structure with
// Randomness", 2011). It begins with the space of the columns of start (c×l), lets BᵀB turn it passes times, each time
// sharpening it by the square of the ratio of singular values, and returns the p ≤ keep directions in it with the
// largest ‖Bv‖, orthonormal (c×p), and these norms, the singular values as far as the space holds them. Directions of
// start that are only rounding are left out.
func Principal(forward, adjoint func(*graph.Dense) *graph.Dense, start *graph.Dense, passes,
	keep int) (v *graph.Dense, values []float64) {
	v = orthonormal(start)
	for range passes {
		v = orthonormal(adjoint(forward(v)))
	}
	vectors, squares := GramEigen(forward(v)) // Rayleigh-Ritz
	p := min(keep, v.Cols)
	for _, s := range squares[:p] {
		values = append(values, math.Sqrt(max(0, s)))
	}
	return times(v, vectors, p), values
}

// GramEigen returns the eigenvectors and eigenvalues of YᵀY, largest first.
func GramEigen(y *graph.Dense) (vectors *mat.Dense, values []float64) {
	wide := mat.NewDense(y.Rows, y.Cols, nil)
	for k, v := range y.Data {
		wide.RawMatrix().Data[k] = float64(v)
	}
	var gram mat.SymDense
	gram.SymOuterK(1, wide.T())
	return Eigen(&gram)
}

// Eigen returns the eigenvectors and eigenvalues of a symmetric matrix, largest first.
func Eigen(m *mat.SymDense) (vectors *mat.Dense, values []float64) {
	var eigen mat.EigenSym
	if !eigen.Factorize(m, true) {
		panic("features: the eigenvalues of a symmetric matrix did not converge") // not for finite features
	}
	n := m.SymmetricDim()
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

// orthonormal spans the columns of y by orthonormal ones, without directions that are only rounding, but at least
// one.
func orthonormal(y *graph.Dense) *graph.Dense {
	vectors, values := GramEigen(y)
	rank := 0
	for rank < len(values) && (rank == 0 || values[rank] > rankTolerance*values[0]) {
		by := 1 / math.Sqrt(max(values[rank], math.SmallestNonzeroFloat32))
		for i := range vectors.RawMatrix().Rows {
			vectors.Set(i, rank, by*vectors.At(i, rank))
		}
		rank++
	}
	return times(y, vectors, rank)
}

// times returns y·(the first p columns of v).
func times(y *graph.Dense, v *mat.Dense, p int) *graph.Dense {
	right := graph.NewDense(y.Cols, p)
	for i := range right.Rows {
		for k := range p {
			right.Row(i)[k] = float32(v.At(i, k))
		}
	}
	return gemm.Mul(gemm.Of(y), gemm.Of(right))
}
