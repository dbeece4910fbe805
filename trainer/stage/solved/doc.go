// Package solved has the stages of method solved (docs/algorithm.md, section 5): the steps that work on the whole
// graph. The small rest, which fits weights, finds clusters and solves systems of N'×N', stays with the run that calls
// them, package trainer. They read the tables of a graph that package partition has made: blocks of nodes, and tiles of
// edges between blocks.
//
//	prepare.go  moments                           sums of the features, for the preprocessing
//	hop.go      send, receive                     a hop of features; meet.go: meet, count, edges between clusters
//	walk.go     enter, step, take                 a model's hops on T by infer.Recurrence: its tables and logits
//	held.go     held, rows, fetch                 nodes for the run: held out, labelled rows, tables of an sgc
//	            pick, pickrows                    pick.go: rows of other tables and of M
//	subgraph.go mark, reach, near, thin, number,  T or a subgraph of it in memory, in which models are fitted
//	            bring, link
//	join.go     join                              the cluster of each node
//	messages.go norms                             tables -> messages; their norms if there are several models
//	means.go    means                             X' and the messages of clusters
//	solve.go    solve, normal                     rows of M, and its normal equations
//	spread.go   seeds, spread, gather             label and error propagation
//
// model.go has a model as a file of a stage, registry.go the list of all stages, and package wire the bytes of records.
//
// Features are dense in the hops of hop.go alone, and there sparse ones of more than 256 columns are a random
// projection of 256, which is enough to find clusters. Models multiply features by their weights before the first hop.
package solved
