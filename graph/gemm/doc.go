// Package gemm multiplies dense float32 matrices as fast as the processor can, for training.
//
//	C += α·A·B    A: m×k, B: k×n, C: m×n. A and B are views with strides, so AᵀB and ABᵀ copy no matrix
//
// # Fast products
//
// The contract, beside that of package graph, whose products are row-stable, as serving needs them:
//
//   - Sums are added up in any order that the shapes alone decide. An element's bits may depend on the shapes, but not on
//     the number of goroutines, so a run can be repeated.
//   - The error is that of float32 sums: the tests hold it below 1e-6 of the sum of magnitudes, against float64.
//
// Today k is cut into blocks of 256. The products of a block are added in ascending k, fused, and the blocks one after
// the other, which loses less than one chain over all k; where k is large and C small, such as an adjoint FᵀG over all
// nodes, k is first cut into 16 ranges, each with a sum of its own (tall.go). All processors do this in the same order,
// with the same bits. The loops and kernels are those of package tile. BenchmarkKernels prints GFLOP/s beside the
// processor's peak and gonum's blas32; tools/peer/gemm.py prints those of OpenBLAS, and docs/measurements/performance.md
// has the table.
package gemm
