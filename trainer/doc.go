// Package trainer makes artifacts: from a data set to a synthetic graph S, a mapping M and the tables that a consumer
// serves, with the accuracy of each deployment on the test nodes.
//
// A run reads top to bottom in [Train], a file a step:
//
//	task.go       options and data -> T, preprocessing (package features), synthetic nodes of each class
//	original.go   W_O fitted on T (fit), its weight decay chosen on the support nodes
//	synthetic.go  clusters and M (condense, nnls), tables of S (tables); W_S fitted on the cluster means
//	calibrate.go  temperature, label and error propagation, chosen on the support nodes
//	evaluate.go   every deployment on the test nodes (eval)
//	train.go      the steps in order, and the artifact.Bundle
//
// [Compare] measures an artifact against Whole on the batches that a stream formed.
//
// Notation as in package infer: T is the original graph of N nodes (training and unlabelled nodes), S the synthetic graph
// of N' nodes, M the N×N' mapping; W_O was fitted on T, W_S on S; X→Y reads "fitted on X, deployed on Y". The validation
// nodes are the support nodes: their features and edges may be used, their labels only to choose hyperparameters. The test
// nodes are used for nothing but the figures.
//
// Everything random comes from Options.Seed, a stream for each purpose; the same data, options and build give the same
// bundle bit for bit, whatever the number of processors.
package trainer
