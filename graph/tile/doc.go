// Package tile multiplies dense float32 matrices by tiles that fit a processor's registers: C += A·B, for products that
// are row-stable ([Chain], called by package graph) and for those of training ([Add], called by package gemm).
//
//	tile.go               views of matrices, and the loops: blocks of rows, blocks of k, panels of B, tiles
//	kernel_*.go, .s       the kernels of a tile: AVX-512, AVX2, arm64, plain Go
//	fma.go                a fused multiply-add in plain Go, with the bits of the instruction
//
// The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), without the
// packing of A, whose blocks are read in place. B is packed into panels as wide as a tile if many rows are multiplied
// with it, and read in place if it is a few, as packing costs as much as the product of ten to twenty rows.
//
// A kernel of Chain begins its sums with the values of C, so a sum is one chain of fused multiply-adds in ascending k,
// however k is cut into blocks. A kernel of Add begins at 0 and adds its sums to C, block after block.
//
// # Why assembler
//
// Go's own package for this, simd/archsimd, is there only if the program is built with GOEXPERIMENT=simd. Somebody who
// says `go run ./cmd/rivulet demo` or `go test ./...` does not set that, and would get plain Go; and its interface
// is experimental and may change with each release of Go. A package in C needs cgo and a C compiler.
package tile
