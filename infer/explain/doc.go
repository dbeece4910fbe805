// Package explain says why an arrival got its class (docs/algorithm.md, section 10). An [Explainer] belongs to one
// predictor. It divides the logit of a class into shares of the model's biases, of the arrival's features, of its
// neighbours and of the other arrivals of its batch; for an explanation in full it also removes the largest terms one
// after the other and predicts again. Frozen models have shares, joint ones only removals.
//
//	logit = bias + own·(x W less its centring) + Σ_j read·(row of the tables of neighbour j) + Σ among
//
// with relus, degrees and norm held as they are, so that the shares add up to the logit. Everything is computed in
// float64.
//
//	explain.go    Explanation, the terms in full
//	strongest.go  the largest shares alone, for every prediction of a stream
//	share.go      an arrival with the arrivals of its batch that it can read, and the shares of its terms
//	hops.go       the coefficients of models of hops: sgc, ssgc, appnp
//	layers.go     the coefficients of models whose layers read neighbours: gcn, sage, cheby
//	relational.go the coefficients of models that read the relations of edges: rsgc, rgcn, dirsgc, dirsage
//	expert.go     those of the expert of own features, a part of the shares of features and biases
//	removal.go    the arrival without one of its terms, by a second pass
package explain
