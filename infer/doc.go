// Package infer is the numeric core: pure functions from a batch of arrivals to logits and probabilities. It knows
// no context, clock, log or I/O, and starts no goroutine that outlives a call.
//
// Notation (Gao et al., "Graph Condensation for Inductive Node Representation Learning", MCond):
//
//	T = (A, X, Y)     original graph: A N×N symmetric 0/1, X N×d, Y N classes of C
//	S = (A', X', Y')  synthetic graph: A' N'×N' ≥ 0, zero diagonal, X' N'×d
//	M                 N×N' mapping, non-negative, at most k entries a row
//	a, ã, x           n×N, n×n, n×d: a batch's edges to T, among itself, and its features
//	r = aM            n×N': the batch's edges to S
//	D_i = 1 + known neighbours + degree in ã;  q_i = D_i^-½;  Â(B) = D̃^-½ (B+I) D̃^-½
//	h                 hidden units of a model that has them
//	z = x W           n×C or n×h: features after preprocessing, times the first weight matrix
//
// # The path of a batch
//
// [attach.Batch.Attach] turns the rows of M of each arrival's neighbours into r, which with the raw features and, in a
// graph batch, ã makes an [attach.Batch]. A [Predictor] answers it: its [Deployment] (a [Network] on a graph or on
// tables) gives logits, starting with a [preprocess.Projection] (preprocessing and the first weights in one step); its
// [perceptron.Expert], where there is one, adds what the arrival's own features say; its [Propagation], where there is
// one, spreads labels (LP) or errors (EP); its [Calibration] makes probabilities of
// both. Nothing on the path is changed by a batch, so one Predictor serves several goroutines.
//
// # Frozen and joint
//
// Frozen attachment reads [Tables] of T or S that are computed once. In a node batch (no ã) a prediction depends on
// its own arrival alone, bit for bit, whatever the batch, its size and order; in a graph batch on the arrival's
// connected component of ã, bit for bit as long as the rows of ã list neighbours in the same order, and to rounding
// otherwise. The order of an arrival's own neighbours counts too, in the last bits: it is the order in which r is
// added up.
//
// Joint attachment (the paper's Eq. 11) runs the model on the graph with the batch in it, so that a prediction depends
// on the whole batch, and permuting a batch permutes its predictions to rounding only. With one arrival on T, frozen
// attachment reproduces it: exactly for SGC if no two of the arrival's neighbours are adjacent, linearised at the relus
// for the others.
//
// Joint degrees are sums of edge weights, weights of R included; frozen ones count an arrival's true edges
// (Batch.Known and ã), whatever the weights in R.
//
// # Three nodes
//
// T has two nodes and the edge 0–1, x_0 = (1, 0), x_1 = (0, 1); an arrival i with x_i = (0, 1) comes with the edge
// i–0. The model is an SGC of two hops with W = I and b = 0, so that z = x. What the arrival reads is computed
// beforehand, once (D_0 = 2):
//
//	u0 of node 0    x_0/√3 = (0.577, 0)
//	u1 of node 0    (x_1/√2 + u0)/3 = (0.192, 0.236)
//	c  of node 0    1/3
//
// The arrival has D_i = 2, q = 1/√2, and reads row 0 alone, a·u = u of node 0:
//
//	h1 = q(u0 + q x_i) = (0.408, 0.500)
//	h  = q(u1 + q h1) + q² c x_i = (0.136, 0.167) + (0.204, 0.250) + (0, 0.167) = (0.340, 0.583)
//
// That is row i of Â² X of the three nodes joined, with the degrees 3, 2, 2: no triangle is closed. Served from S, r =
// aM replaces a, and the tables of S replace those of T: with M_0 = (½, ½) on two synthetic nodes, the arrival reads
// half of each of their rows. The example ThreeNodes prints these numbers.
//
// # Growth
//
// An arrival becomes a node that later ones attach to by a row of M of its own: [growth.Grower]. Its own tables
// ([Growable]) become messages ([growth.Messages]), and the solve finds the few synthetic nodes whose messages, in
// non-negative shares, come nearest. Every model that M was solved for has a part in that.
//
// # Models
//
// A model is an [architecture.Architecture], which is a value in a file of its own and in one list, with weights
// ([Network]). Every form here, and the trainer's fits, messages, cluster means and imports, are derived from that
// value.
//
//	name   file       frozen tables, m nodes                  joint degree      embedding
//	sgc    sgc.go     K of m×C, c m×max(1, K−1)               with self-loop    Â^K x, n×d (see Embedder)
//	ssgc   ssgc.go    as sgc                                  with self-loop    Σ_t w_t Â^t x, n×d
//	gcn    gcn.go     one of m×h a layer, the last m×C; c     with self-loop    the last relu(p), n×h
//	sage   sage.go    the same                                without           the last relu(p), n×h
//	rsgc, rgcn and, of directions, dirsgc and dirsage, in relational.go: one of Rm×C or Rm×h a layer for R relations,
//	no c, and no joint deployment
//	appnp  appnp.go   one of m×C a hop, c m×1                 with self-loop    relu(x W1 + b1), n×h
//	cheby  cheby.go   as gcn, two layers (K=2; K=3 none)      without           relu(p), n×h
//
// c is m×h for two layers, and for more of them m×(Σh+1). A Cheby of K = 3 has no frozen form: [Freezable] tells,
// and Tables and Frozen panic. Every joint deployment also gives logits of the graph's nodes ([NodeLogits]), which
// error propagation starts from. [Network.Neighbourhood] is Joint for the price of the batch's neighbourhood, where
// a model reaches no further than two hops.
//
// Inside this package a shape that does not fit is a programming error and panics with the shapes; outside input is
// checked by the Validate methods and by [Build], with errors that name field and value.
package infer
