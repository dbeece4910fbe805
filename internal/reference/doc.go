// Package reference is the oracle that the numeric core is tested against: the equations of MCond and of this project,
// written down as they are printed, with dense float64 matrices and no regard for speed. It shares no code with graph or
// infer, and only tests import it.
//
// Notation, with n arrivals, T of N nodes, S of N' nodes, d features and C classes:
//
//	T = (A, X, Y)      original graph: A N×N symmetric 0/1 with zero diagonal, X N×d, Y N
//	S = (A', X', Y')   synthetic graph: A' N'×N' ≥ 0 symmetric with zero diagonal, X' N'×d, Y' N'
//	M                  N×N' mapping, ≥ 0
//	a, ã, x            n×N, n×n, n×d: the arrivals' edges to T, among themselves, and their features
//	r = aM             n×N': the arrivals' edges to S
//	B, R               the graph that a function works on, of m nodes, and the edges to it: A and a, or A' and r
//	deg_i, D_i         true edges of an arrival (known neighbours and neighbours in ã), and D_i = deg_i + 1
//	Â(B)               D̃^-½ (B+I) D̃^-½ with D̃ the row sums of B+I
//	z = xW             n×C
//
// What is where:
//
//	matrix.go      products, transpose, linear systems
//	attach.go      Â, the attached graph [[B, Rᵀ],[R, ã]], the arrivals
//	models.go      what the models have in common; joint (paper's Eq. 11), each arrival alone
//	hops.go        SGC and APPNP: on the nodes of any weighted graph, tables, frozen on tables, an arrival's own tables
//	               (section 2)
//	convolution.go GCN and GraphSAGE: the same; cheby.go Cheby
//	ridge.go       tables of S from tables of T, M fixed (section 5, step 4)
//	propagate.go   label and error propagation, joint and frozen (section 6)
//	calibrate.go   what is published: temperature, mixing, clipping (section 6)
//	preprocess.go  l2-center, l1, standardize, none, and their fit (section 1)
//	nnls.go        non-negative least squares of at most k entries, by trying every support (section 5, step 3)
//	goldens.go     reads testdata/attachment.npz of package infer: answers of a third, independent implementation
//
// Sections are those of the project's description of the mathematics; the paper is Gao et al., "Graph Condensation for
// Inductive Node Representation Learning" (ICDE 2024).
//
// Functions never change their arguments. A shape that does not fit panics.
package reference
