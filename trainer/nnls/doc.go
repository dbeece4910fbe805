// Package nnls solves many small non-negative least squares problems over one dictionary, with few entries in each answer:
//
//	for every row t of T (N×p):   min ‖t − m·D‖²   subject to  m ≥ 0, |m|₀ ≤ k        D: N'×p
//
// The rows are independent and share the Gram matrix G = D Dᵀ (N'×N'). A row is solved in two parts:
//
//	pursuit    non-negative orthogonal matching pursuit: the column that lowers the loss most alone joins the support,
//	           which is then solved exactly (Lawson and Hanson, "Solving Least Squares Problems", 1974, ch. 23)
//	exchanges  each entry is taken out in turn and the best other column put in its place, as long as that lowers the loss
//
// Finding the best support is NP-hard. The tests hold the answers to the best of all supports on small dictionaries;
// BenchmarkRows compares with the pursuit alone and with coordinate descent over all columns that is pruned to k in
// stages. A row costs N'·p for D·t and N'·k for each column that is looked for.
package nnls
