// Package condense makes the synthetic graph S and the mapping M. A method is data and weights in, (S, M) out, one a file.
//
//	solved   per class k-means of Â²X gives S, sparse non-negative least squares gives M (ALGORITHM.md, section 5)
//
// The solved method in the order of its steps:
//
//	Budget                  how many of the N' synthetic nodes each class gets
//	Cluster, Clusters.Join  labelled nodes by k-means within their class, the others to the nearest centroid of the class
//	                        that a model predicts
//	Membership, Adjacency   means over clusters (X' = Membership·X) and A'
//	Messages, ScalesOf      t_j: what an arrival reads of node j, each block weighed by what it makes of it
//	SolveMapping            M, row by row (package nnls)
//
// Notation as in package infer; a cluster is a synthetic node.
//
//	points    N×p         Â²X, or a random projection of it
//	messages  N×(2C+1)    t_j
//	weights   N           w_j = deg_j + 0.1: how often an arrival meets node j
package condense
