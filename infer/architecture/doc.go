// Package architecture describes families of models as values, and takes their weights. It computes nothing on graphs:
// package infer does that, by these values.
//
//	architecture.go   Architecture: the layers, the names of their weights, and the step after the layers; the list
//	operator.go       Operator: how the messages of a hop are scaled
//	weights.go        Weights: an architecture with the weights of its layers, from tensors and back
//	models.go         appnp, cheby, gcn, gin, sage, sgc, sign and ssgc; relations.go: rgcn, rsgc, dirsage and dirsgc
package architecture
