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
//   - Every multiplication is rounded before it is added (no fused multiply-add, which the conversions float32(a*x)
//     keep the compiler from making on arm64), so the bits are those of one [Axpy] a row, with vectors and without
//     them.
//
// Vector kernels for sums of rows have 16 columns with AVX-512, 8 with AVX2 and 4 on arm64 (rows_amd64.s,
// rows_arm64.s); dense products have one more with AVX-512, of four rows at a time (tiles_amd64.s). On amd64 there are
// also kernels for sums and factors of one row (elements_amd64.s), and for exponentials with the bits of package math
// (exp_amd64.s). Elsewhere, and with the build tag purego, they are plain Go. AVX-512 asks a processor for AVX512F
// alone; golang.org/x/sys/cpu reports it, and AVX2, only if the operating system keeps these registers (XGETBV). The
// tests compare each kernel with a plain loop, bit for bit, and the products with float64; `make processors` runs them
// on emulated processors.
//
// Degree normalisation follows Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks"
// (2017), in [Normalised]: Â(B) = D̃^-½ (B+I) D̃^-½ with D̃ the row sums of B+I.
package graph
