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
// # The path of a batch
//
// [Attach] turns the rows of M of each arrival's neighbours into r, which with the raw features and, in a graph batch, ã
// makes a [Batch]. A [Predictor] answers it: its [Deployment] (a [Model] on a graph or on tables) gives logits, starting
// with a [Projection] (preprocessing and the first weights in one step); its [Propagation], where there is one, spreads
// labels (LP) or errors (EP); its [Calibration] makes probabilities of both. Nothing on the path is changed by a batch, so
// one Predictor serves several goroutines.
//
// # Frozen and joint
//
// Frozen attachment reads [Tables] of T or S that are computed once. In a node batch (no ã) a prediction depends on its own
// arrival alone, bit for bit, whatever the batch, its size and order; in a graph batch on the arrival's connected component
// of ã, bit for bit as long as the rows of ã list neighbours in the same order, and to rounding otherwise. The order of an
// arrival's own neighbours counts too, in the last bits: it is the order in which r is added up.
//
// Joint attachment (the paper's Eq. 11) runs the model on the graph with the batch in it, so that a prediction depends on
// the whole batch, and permuting a batch permutes its predictions to rounding only. With one arrival on T it is what frozen
// attachment reproduces, exactly for SGC where no two of the arrival's neighbours are adjacent.
//
// # Which file
//
//	batch.go          Batch, Attach
//	preprocess.go     Preprocess, and Projection, which folds it into the weights
//	model.go          Model, Tables, Deployment, and Build, the list of architectures
//	sgc.go            one model: tables, frozen, joint; neighbourhood.go is its joint form on large graphs
//	joint.go          Â of the graph with a batch in it, never assembled
//	propagate.go      LP and EP, frozen and joint
//	calibration.go    temperature, mixing, clipping
//	predictor.go      all of it together
//
// Inside this package a shape that does not fit is a programming error and panics with the shapes; what comes from outside
// is checked by the Validate methods and by [Build], with errors that name field and value.
package infer
