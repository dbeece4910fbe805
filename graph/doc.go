// Package graph holds the two containers that every other package computes with, and the products between them.
//
//	Dense     r×c, float32, row-major
//	CSR       r×c, float32 values (nil: all ones), int32 columns, rows in order
//	Features  n×d, raw node features, either Dense or CSR
//
// A CSR from outside goes through [CSR.Validate] once; after that a wrong shape is a programming error and
// panics.
//
// # Row-stable products
//
// The contract of the products here ([MulTo], [AddRows], [AddProduct], [MulDense]), on which serving relies
// (ARCHITECTURE.md, invariants); training has products of another contract in package gemm.
//
//   - They walk rows in order and add in the order of the columns, so a row of a result depends only on that row of the
//     left operand: its bits are the same whatever the other rows are and however many goroutines share the work.
//   - A multiplication and its addition are one fused operation, rounded once, so each sum is a chain of these: the
//     bits are those of one [Axpy] a row. They are the same with AVX-512, with AVX2, on arm64, and in plain Go, which
//     computes a fused operation exactly (tile.FMA).
//   - A zero adds nothing, so a dense row gives the bits of the sparse row with its non-zeros. The sign of a sum that
//     is 0 is the exception: a product below 2^-150 may leave -0, to which a zero of the dense row adds +0.
//
// Kernels for sums of rows have vectors of 16 columns with AVX-512, 8 with AVX2 and 4 on arm64 (rows_amd64.s,
// rows_arm64.s). Products of four rows and more go by tiles (package tile). On amd64 there are also kernels for sums
// and factors of one row (elements_amd64.s), and for exponentials with the bits of package math (exp_amd64.s).
// Elsewhere, and with the build tag purego, they are plain Go. A processor needs AVX512F, or AVX2 and FMA;
// golang.org/x/sys/cpu reports them only if the operating system keeps these registers (XGETBV). The tests compare each
// kernel with a plain loop, bit for bit, and the products with float64; `make processors` runs them on emulated
// processors.
//
// Degree normalisation follows Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks"
// (2017), in [Normalised]: Â(B) = D̃^-½ (B+I) D̃^-½ with D̃ the row sums of B+I.
package graph
