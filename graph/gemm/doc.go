// Package gemm multiplies dense float32 matrices as fast as the processor can, for training.
//
//	C += α·A·B    A: m×k, B: k×n, C: m×n, each with strides of its own, so that a transposed view is no copy
//
// Package graph's products are row-stable and rounded after each multiplication: serving needs that. Here a
// multiplication and its addition are one fused operation (FMA), and k is cut into blocks of 256, which are
// added up one after the other. So an element of C is
//
//	Σ over blocks ( Σ over k in the block, fused, ascending )
//
// whatever the processor's vectors, the number of goroutines and the other elements are: the same bits with
// AVX-512, with AVX2 and on arm64. Without vectors (build tag purego, other processors) the fused operation is
// rounded from float64, which differs in the last bit now and then.
//
// The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008),
// without the packing of A: a block of A is read in place, B is packed into panels as wide as a kernel's tile.
// BenchmarkGemm compares with gonum's blas32 in one run; tools/peer has OpenBLAS.
package gemm
