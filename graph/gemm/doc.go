// Package gemm multiplies dense float32 matrices as fast as the processor can, for training.
//
//	C += α·A·B    A: m×k, B: k×n, C: m×n. A and B are views with strides, so AᵀB and ABᵀ copy no matrix
//
// # Fast products
//
// The contract, beside that of package graph, whose products are row-stable and rounded after each multiplication, as
// serving needs them:
//
//   - A multiplication and its addition are one fused operation (FMA), in any order that the shapes alone decide.
//     An element's bits may depend on the shapes, but not on the number of goroutines, so a run can be repeated.
//   - The error is that of float32 sums: the tests hold it below 1e-6 of the sum of magnitudes, against float64.
//
// Today k is cut into blocks of 256. The products of a block are added in ascending k, fused, and the blocks one after
// the other; where k is large and C small, such as an adjoint FᵀG over all nodes, k is first cut into 16 ranges,
// each with a sum of its own (tall.go). AVX-512, AVX2 and arm64 do this in the same order. Without vectors (build tag
// purego, other processors) the fused operation is rounded from float64, which differs in the last bit now and then.
//
// The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008),
// without the packing of A: a block of A is read in place, B is packed into panels as wide as a kernel's tile.
// BenchmarkKernels prints GFLOP/s beside the processor's peak and gonum's blas32; tools/peer/gemm.py prints those of
// OpenBLAS, and docs/measurements/performance.md has the table.
//
// # Why assembler
//
// Go's own package for this, simd/archsimd, is there only if the program is built with GOEXPERIMENT=simd. Somebody who
// says `go run ./cmd/rivulet demo` or `go test ./...` does not set that, and would get plain Go; and its interface
// is experimental and may change with each release of Go. A package in C needs cgo and a C compiler.
package gemm
