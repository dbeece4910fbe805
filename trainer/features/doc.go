// Package features prepares node features for training: it fits the preprocessing that the artifact carries, and
// holds pre(X) in factored form, so that a sparse X is never made dense.
//
//	pre(X) = X̄ diag(f) − 1·oᵀ      X̄ N×d: raw rows, over their norm for l2-center and l1;  f d: column factors;
//	                               o d: offsets
//
// There are three forms of pre(X)·W, each for a reason:
//
//	Projection         (package infer/preprocess) rows of arrivals: each has the same bits in any batch, and its norm is
//	                   computed on the way; Inputs are the nodes of a graph seen through it, or through S's X', which
//	                   is preprocessed already
//	Factored           T's rows, normed once: sums of rows, G·pre(X), and blocks of columns
//	Design             T's rows in a fit: F·W and FᵀG by turns, with F = P·pre(X) never formed; package fit drops
//	                   features out by replacing its raw rows
package features
