// Package features prepares node features for training: it fits the preprocessing that the artifact carries, and holds
// pre(X) in factored form, so that a sparse X is never made dense.
//
//	pre(X) = X̄ diag(f) − 1·oᵀ      X̄ N×d: raw rows, over their norm for l2-center and l1;  f d: column factors;  o d: offsets
package features
