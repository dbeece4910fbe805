// Package nnls solves many small non-negative least squares problems over one dictionary, with few entries in each answer:
//
//	for every row t of T (N×p):   min ‖t − m·D‖²   subject to  m ≥ 0, |m|₀ ≤ k        D: N'×p
//
// The rows are independent and share the Gram matrix G = D Dᵀ (N'×N'). A row is solved by non-negative orthogonal
// matching pursuit, which adds the column that lowers the loss most and refits the support exactly (Lawson and Hanson,
// "Solving Least Squares Problems", 1974, ch. 23, on at most k columns), followed by exchanges: each entry is taken out in
// turn and the best other column put in its place, for as long as that lowers the loss. Finding the best support is
// NP-hard; exchanges close most of what the pursuit alone leaves (measured in BenchmarkRows against coordinate descent
// with pruning and, on small dictionaries, against all supports).
package nnls
