// Package nnls solves many small non-negative least squares problems over one dictionary, with few entries in each
// answer:
//
//	for every row t of T (N×p):   min ‖t − m·D‖²   subject to  m ≥ 0, |m|₀ ≤ k        D: N'×p
//
// The rows are independent and share the Gram matrix G = D Dᵀ (N'×N'). A [Solver] keeps G for the rows that come later.
//
// A row is solved by a pursuit. The column joins the support that lowers the loss most together with the columns that
// are there (orthogonal least squares, a stricter choice than matching pursuit's). Then the weights on the support are
// solved exactly (Lawson and Hanson, "Solving Least Squares Problems", 1974, ch. 23); columns whose weights end at 0
// leave again. It ends with k columns, or when no column lowers the loss.
//
// Vectors are scaled so that all columns and the target have length 1. The next column is found in float32, in one
// pass over all N'. With b the products of the columns with the target, P the inverse of G on the support and x the
// weights, each column has
//
//	c_i  = Σ_s P_is G_s           its coordinates in the support
//	left = 1 − Σ_i c_i G_i        the squared length of its residual
//	r    = b − Σ_i x_i G_i        its product with the target's residual
//
// (Golub and Van Loan, "Matrix Computations", section 2.1.4: an inverse after a change of low rank.) The column with
// the largest r²/left joins, r > 0. The support is then solved in float64, and counts if it lowers the loss.
//
// A row costs N'·p for D·t and N'·n² for the column that joins n others. Finding the best support is NP-hard. The tests
// hold the answers to the best of all supports on small dictionaries. BenchmarkRows compares with coordinate descent
// over all columns that is pruned to k in stages.
//
// The passes over N' columns are in plain Go (kernel.go) and with AVX2 (kernel_amd64.s), with the same bits.
package nnls
