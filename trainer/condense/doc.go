// Package condense makes the synthetic graph S and the mapping M. A method is data and weights in, (S, M) out, one
// a file.
//
//	solved   per class k-means of Â²X gives S, sparse non-negative least squares gives M (docs/algorithm.md, section 5)
//	cluster  solved's S with one-hot membership for M (MembershipMapping)
//	vng      weighted k-means of Â²X over all nodes, an operator Q fitted to carry their means over a hop; SGC only
//	random, degree, herding, kcenter
//	         coresets: nodes of T, chosen in each class, with the edges among them (coreset.go)
//	cached   nothing condensed: the model's tables of T, for comparison with M (CachedBytes, MappingBytes)
//
// All but solved are the baselines of docs/algorithm.md, section 7. A method names the attachment that its M is
// made for: joint for coresets, frozen for the others.
//
// The solved method in the order of its steps:
//
//	Projection              wide features on a random basis, for k-means
//	Budget                  the number of the N' synthetic nodes for each class
//	Cluster, Clusters.Join  labelled nodes by k-means within their class, the others to the nearest centroid of the class
//	                        that a model predicts
//	Membership, Adjacency   means over clusters (X' = Membership·X) and A'
//	MessagesOf              t_j: the numbers that an arrival reads of node j, each block weighed by its effect
//	Dictionary              t' of clusters, and M solved against it, row by row (package infer/nnls)
//
// Files: budget.go, points.go, groups.go, kmeans.go, clusters.go for S; messages.go, dictionary.go, solved.go for M;
// condensed.go what a method takes and gives. The baselines are in coreset.go (random, degree, herding, k-center), in
// vng.go and in cached.go.
//
// Notation as in package infer; a cluster is a synthetic node.
//
//	points    N×p         Â²X, or a random projection of it, and their leading principal directions
//	messages  N×(2C+1)    t_j
//	weights   N           w_j = deg_j + 0.1: how often an arrival meets node j
package condense
