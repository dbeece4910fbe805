// Package trainer makes artifacts: from a data set to a synthetic graph S, a mapping M and the tables that a
// consumer serves, with the accuracy of each deployment on the test nodes.
//
// # A run
//
// A run is three values: T, the held-out nodes that are attached to it, and what is asked for ([T], [Held], [Run]). A
// method of condensation is a function of them that returns a [Result]: S, M, and the parts that it has beside these.
// What comes after it is functions of the same values that look whether a part is there. [train] has the steps on one
// screen: fit, condense, place, calibrate, measure, bundle. Only some steps read all of T, and a holder does these
// (holder.go). One holder has T in memory. The other has the rows of tables that need not fit into memory, made by SQL
// and the programs of package lake; a sample of T is in memory, in which models are fitted and S is made. What an
// option or a method cannot do, and why, is a row of capabilities.go or of the list of methods.
//
// # Notation
//
// As in package infer: T is the original graph of N nodes (training and unlabelled nodes), S the synthetic graph of N'
// nodes, M the N×N' mapping; W_O was fitted on T, W_S on S; X→Y reads "fitted on X, deployed on Y". The validation
// nodes are the support nodes: their features and edges may be used, their labels only to choose hyperparameters. The
// test nodes are used only for the figures. Whole is O→O, joint.
//
// # Randomness
//
// Everything random comes from Options.Seed, with a random stream for each purpose; the same data, options and
// build give the same bundle bit for bit, whatever the number of processors.
package trainer
