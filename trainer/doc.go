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
//	options.go     the options of a run; reports of its progress are package watch
//	run.go         options and data -> T with its preprocessing (package features), held-out nodes, the run
//	original.go    W_O fitted on T (package fit), hyperparameters chosen on the support nodes (package search); or
//	               imported weights
//	layered.go     the same for models with hidden layers
//	memo.go        results that depend on T alone: a series of runs with many methods makes them once ([Series])
//	methods.go     the list of methods of condensation
//	result.go      the result of a method: S, M and its other parts; W_S, a new M for it, and growth, where it has these
//	clusters.go    methods solved and cluster: clusters and M (packages condense, nnls), tables of S (package tables)
//	synthetic.go   W_S of clusters: fitted on their means, with their spread, and to soft labels
//	jointgraph.go  an S that is a graph: models fitted on it, its frozen tables; T's own tables as S (method cached)
//	relations.go   what differs where edges have types or directions
//	targets.go     tasks of labels, numbers and links: units and scores
//	capabilities.go the data and the holders that options and methods do not fit, each with its reason
//	choose.go      the model to serve, chosen on the support nodes (--models auto)
//	own.go         nodes with their own features, the perceptrons that package expert fits to them, and those that answer
//	               beside the models on S
//	rivals.go      methods without S, for comparison: own features alone, and the classes of neighbours (package expert)
//	deploy.go      a model on the graph that arrivals attach to: T or S, joint or frozen (package deploy)
//	evaluate.go    O→O, O→S, S→O and S→S as a table of where a model was fitted and where it is placed; every cell
//	               calibrated on the support nodes (package deploy) and measured on the test nodes (eval)
//	answers.go     some nodes with the predictions that consumers of the artifact have to repeat
//
// # T in tables
//
//	lake.go        the steps that read a sample, or the nodes that are held out; package lake has those between them
//
// # More than one run
//
//	options.go     has the options of the run that made an artifact; package eval compares an artifact with Whole
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
