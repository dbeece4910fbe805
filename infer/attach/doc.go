// Package attach joins arrivals to a graph. It turns the rows of M (N×N', the mapping from original to synthetic nodes)
// of each arrival's neighbours into r = aM, the arrival's edges to the synthetic graph (the paper's Eq. 11), and makes
// a [Batch] of them: features, edges and degrees; a model reads nothing else of arrivals. An arrival with two known
// neighbours, whose rows of M are (½, ½, 0) and (0, 1, 0), gets r = (½, 1½, 0).
package attach
