// Package plane draws S: a place in the plane for each synthetic node, and a legend to it ([artifact.Map]).
//
//	points     N'×p     each node's row of the default model's last frozen table, N'×C, or Â(A')²X' where
//	                    the model has none; centred, in its leading principal directions
//	weights    N'×N'    the certainty that two nodes are neighbours, by their distances; k neighbours a node
//	places     N'×2     laid out so that neighbours attract each other and any others repel
//	legend              mass, class shares, heaviest nodes of T, strongest features
//
// The layout follows McInnes, Healy and Melville, "UMAP: Uniform Manifold Approximation and Projection for Dimension
// Reduction" (2018), from a start in the two leading principal directions. Neighbours are found by comparing all pairs,
// N'²p work, and the layout takes epochs·N'·k steps with fewer epochs where N' is large, so that 10,000 nodes take
// seconds. It runs in one goroutine, with a random stream of its own: the same S and seed give the same bits.
//
// The tests measure a layout by how many nearest neighbours of the points are nearest neighbours in the plane, too, and
// by how often the nearest neighbours in the plane are of a node's class.
package plane
