// Package trainer makes artifacts: from a data set to a synthetic graph S, a mapping M and the tables that a
// consumer serves, with the accuracy of each deployment on the test nodes.
//
// A run reads top to bottom in [Train], a file a step:
//
//	task.go        options and data -> T, preprocessing (package features), synthetic nodes of each class
//	original.go    W_O fitted on T (fit), hyperparameters chosen on the support nodes; or imported
//	methods.go     the list of the methods of condensation, and the interface of their results: S, M, and models on them:
//	clusters.go                  solved and cluster: clusters and M (condense, nnls), tables of S (tables); W_S on the cluster means
//	coresets.go, learned.go      an S that is a graph (condense, mcond): graphs.go, and support.go for its frozen tables
//	vng.go, cached.go            virtual nodes (condense); T's own tables
//	place.go       a model on the graph that arrivals attach to: T or S, joint or frozen
//	calibrate.go   temperature, label and error propagation, chosen on the support nodes; confidence.go: their quality
//	evaluate.go    every deployment on the test nodes (eval)
//	train.go       the steps in order, and the artifact.Bundle
//
// [Study] measures methods, models and sizes over seeds; whole.go keeps the results that depend on T alone.
// later.go adds a model to an artifact without T, grow.go measures the gain from rows of M for arrivals.
//
// [Compare] measures an artifact against Whole on the batches of a stream.
//
// Notation as in package infer: T is the original graph of N nodes (training and unlabelled nodes), S the synthetic
// graph of N' nodes, M the N×N' mapping; W_O was fitted on T, W_S on S; X→Y reads "fitted on X, deployed on Y". The
// validation nodes are the support nodes: their features and edges may be used, their labels only to choose
// hyperparameters. The test nodes are used only for the figures.
//
// Everything random comes from Options.Seed, with a random stream for each purpose; the same data, options and
// build give the same bundle bit for bit, whatever the number of processors.
package trainer
