// Package graph holds the two containers that every other package computes with, and the products between them.
//
//	Dense     r×c, float32, row-major
//	CSR       r×c, float32 values (nil: all ones), int32 columns, rows in order
//	Features  n×d, raw node features, either Dense or CSR
//
// A CSR from outside goes through [CSR.Validate] once; after that a wrong shape is a programming error and
// panics.
//
// Products walk rows in order and add in the order of the columns, so a row of a result depends only on that row of
// the left operand: its bits are the same whatever the other rows are and however many goroutines share the work.
// Every multiplication is rounded before it is added (no fused multiply-add), so they are also the same on every
// processor. Serving relies on the first of these (ARCHITECTURE.md, invariants).
//
// On amd64 sums of rows and dense products are vector kernels, of 16 columns with AVX-512 and of 8 with AVX2
// (rows_amd64.s, tiles_amd64.s); elsewhere, and with the build tag purego, plain Go. The tests compare each with
// [Axpy], bit for bit.
//
// Degree normalisation follows Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks"
// (2017), in [Normalised]: Â(B) = D̃^-½ (B+I) D̃^-½ with D̃ the row sums of B+I.
package graph
