// Package nnls solves many small non-negative least squares problems over one dictionary, with few entries in each
// answer:
//
//	for every row t of T (N×p):   min ‖t − m·D‖²   subject to  m ≥ 0, |m|₀ ≤ k        D: N'×p
//
// The rows are independent and share the Gram matrix G = D Dᵀ (N'×N'). A [Solver] keeps G for the rows that come later.
// A row is solved in two parts:
//
//	pursuit    the column joins the support that lowers the loss most together with it (orthogonal least squares, a
//	           stricter choice than matching pursuit's), then the support is solved exactly (Lawson and Hanson, "Solving
//	           Least Squares Problems", 1974, ch. 23)
//	exchanges  one entry, then two at a time are taken out and others take their place, as long as that lowers the loss
//
// Vectors are scaled so that all columns and the target have length 1. The columns to try are found in float32, in one
// pass over N' for each. With P the inverse of G on the support, x the weights and I the entries that are taken out,
//
//	c_i   = Σ_s P_is G_s                                        the coordinates of all columns in the support
//	left  = 1 − Σ_i c_i G_i          r  = b − Σ_i x_i G_i       residuals of the columns, and of the target
//	left' = left + c_I Q c_I         r' = r + c_I Q x_I         the same without I; Q = (P_II)⁻¹
//	v     = G_j − Σ_i c_i G_ij + c_I Q c_I(j)                   products with the residual of another column j
//	left" = left' − v²/left'_j       r" = r' − v r'_j/left'_j   the same with j
//
// (Golub and Van Loan, "Matrix Computations", section 2.1.4: an inverse after a change of low rank.) The column with
// the largest r²/left joins. The support found this way is solved in float64, and counts if it lowers the loss.
//
// A row costs N'·p for D·t and N'·k for each column that is looked for. Finding the best support is NP-hard. The tests
// hold the answers to the best of all supports on small dictionaries. BenchmarkRows compares with the pursuit alone and
// with coordinate descent over all columns that is pruned to k in stages.
//
//	nnls.go     the dictionary and its Gram matrix, rows
//	search.go   one row: pursuit and exchanges
//	active.go   a small system with non-negative unknowns, by Lawson and Hanson's active sets
//	kernel.go   the passes over N' columns in plain Go; kernel_amd64.s has them with AVX2, with the same bits
package nnls
