// Package attach joins arrivals to a graph. It turns the rows of M (N×N', the mapping from original to synthetic nodes)
// of each arrival's neighbours into r = aM, the arrival's edges to the synthetic graph (the paper's Eq. 11), and makes
// a [Batch] of them: features, edges and degrees; a model reads nothing else of arrivals. An arrival with two known
// neighbours, whose rows of M are (½, ½, 0) and (0, 1, 0), gets r = (½, 1½, 0).
//
//	batch.go       Row, a row of M; Batch, the arrivals on a graph
//	attach.go      Attacher: r, sparse or in full, in memory that is used again
//	neighbours.go  where the rows of M come from: a lookup, or an M in memory
//	packed.go      PackedRows, an M in memory in which a row is found by its number
//	weights.go     rows times the weights of edges
//	relations.go   rows times an edge's share of the mean over its relation
//	edges.go       access to r and to the edges among the arrivals
//	memory.go      Memory, in which everything that is computed of a batch lies
package attach
