// Package reference is the oracle that the numeric core is tested against: the equations of MCond and of this project,
// written down as they are printed, in float64 and with no regard for speed. It shares no code with graph or infer:
// github.com/james-bowman/sparse computes its products. Only tests import it.
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
// Equations that one package alone is tested against stand in that package's own tests: the other models, joint
// inference (paper's Eq. 11) and propagation in infer/oracle_*_test.go, non-negative least squares in
// infer/nnls/oracle_test.go.
//
// Sections refer to the project's description of the mathematics, docs/algorithm.md; the paper is Gao et al., "Graph
// Condensation for Inductive Node Representation Learning" (ICDE 2024).
//
// Functions never change their arguments. A shape that does not fit panics.
package reference
