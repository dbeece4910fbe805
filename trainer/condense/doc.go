// Package condense makes the synthetic graph S and the mapping M. A method is data and weights in, (S, M) out, one a file.
//
//	solved   per class k-means of Â²X gives S, sparse non-negative least squares gives M (ALGORITHM.md, section 5)
//
// Notation as in package infer; a cluster is a synthetic node, I (N×N') the membership of T's nodes.
package condense
