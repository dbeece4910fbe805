// Package mcond learns a synthetic graph S and a mapping M from an original graph T by gradient descent: the recipe
// of Gao et al., "Graph Condensation for Inductive Node Representation Learning" (MCond), as docs/algorithm.md,
// section 4, completes it. It needs no weights fitted on T and calls nothing of the solver (packages nnls and
// tables).
//
//	Learn    S and M
//	GCond    S alone (Jin et al., "Graph Condensation for Graph Neural Networks"): deployed on T
//	Search   λ and β by validation, and with them μ and δ
//
// # A run
//
// prepare (input.go) reduces the features to their principal directions, propagates T's labelled nodes
// and draws the nodes that X' starts from. Then, in learn.go, every outer round has a relay of its own, an SGC
// (relay.go), and
//
//	20 steps on S    down L_gra + λ L_str; the first of five rounds moves A' (its MLP), the others X'. After each step
//	                 the relay takes J Adam steps on S alone
//	20 steps on M    down L_tra + β L_ind, with the S and the relay of that time
//
// Every few rounds the caller's Validate measures S and M; the best are kept (learn.go), made sparse by the
// thresholds of the best accuracy (sparsify.go), and returned.
//
// # Notation
//
//	X'       N'×p    features of S, in p principal directions of pre(X); m stands for N' in the code
//	A'       N'×N'   σ of an MLP of pairs of rows of X': symmetric, zero diagonal          affinity.go
//	Z'       N'×p    Â'²X'                                                                 propagate.go, synthetic.go
//	W, b     p×C, C  the relay's weights, W kept transposed                                relay.go
//	H, H'    N×C, N'×C  logits of T and of S under the relay, each graph alone
//	M        N×N'    ReLU(σ(raw)/Σσ(raw) − 1e-5) by rows                                   mapping.go
//	a, ã     n×N, n×n  support nodes' edges to T and among themselves; r = aM
//
// The losses, one a file, each with its gradient in closed form:
//
//	L_gra    gradient.go      cosine distances of the relay's gradients on S and on T, class by class
//	L_str    structure.go     binary cross-entropy of T's edges from MH'
//	L_tra    transductive.go  mean row norm of H − MH'
//	L_ind    inductive.go     mean row norm of H − H' on the support nodes, all attached at once, joint
//
// options.go has the options of a run and result.go what it returns, its losses too; search.go tries λ and β. matrix.go
// has the products of matrices that the others share.
//
// Kernels are generic: a run counts in float32, the tests compare every gradient with central differences in
// float64.
//
// # Cost
//
// A step on S costs three products of N'²·h by h for the MLP (two if its weights are not trained), five of N'·p by
// h, and two of T's labelled nodes by p·C; a step on M a few of N·N'·C. The MLP's work space is four times N'²·h
// numbers, M and its optimiser five times N·N'.
package mcond
