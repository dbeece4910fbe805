// Package infer is the numeric core: pure functions from a batch of arrivals to logits and probabilities. It knows no
// context, clock, log or I/O, and starts no goroutine that outlives a call.
//
// Notation (Gao et al., "Graph Condensation for Inductive Node Representation Learning", MCond):
//
//	T = (A, X, Y)     original graph: A N×N symmetric 0/1, X N×d, Y N classes of C
//	S = (A', X', Y')  synthetic graph: A' N'×N' ≥ 0, zero diagonal, X' N'×d
//	M                 N×N' mapping, non-negative, at most k entries a row
//	a, ã, x           n×N, n×n, n×d: a batch's edges to T, among itself, and its features
//	r = aM            n×N': the batch's edges to S
//	D_i = 1 + known neighbours + degree in ã;  q_i = D_i^-½;  Â(B) = D̃^-½ (B+I) D̃^-½
//	z = x W           n×C: features after preprocessing, times the first weight matrix
//
// The path of a batch: [Projection] (preprocessing and the first weights in one step) -> a [Deployment], frozen or
// joint -> [Calibration]. [Predictor] is the three together.
//
// Frozen attachment reads tables of T or S, computed once; a prediction of a node batch depends on its own arrival
// alone, bit for bit. Joint attachment (the paper's Eq. 11) runs the model on the graph with the batch in it.
package infer
