// Package trainer makes artifacts: from a data set to a synthetic graph S, a mapping M and the tables that a consumer
// serves, with the accuracy of each deployment on the test nodes.
//
// A run reads top to bottom in [Train]:
//
//	data -> preprocessing (package features) -> W_O fitted on T (fit) -> clusters and M (condense, nnls)
//	     -> tables of S (tables) -> calibration on the support nodes -> evaluation (eval) -> artifact.Bundle
//
// Notation as in package infer: T is the original graph of N nodes (training and unlabelled nodes), S the synthetic graph
// of N' nodes, M the N×N' mapping; W_O was fitted on T, W_S on S; X→Y reads "fitted on X, deployed on Y". The validation
// nodes are the support nodes: their features and edges may be used, their labels only to choose hyperparameters. The test
// nodes are used for nothing but the figures.
package trainer
