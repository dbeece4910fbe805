// Package solved has the stages of method solved (docs/algorithm.md, section 5): the steps that work on the whole
// graph. The small rest, which fits weights, finds clusters and solves systems of N'×N', stays with the run that calls
// them, package trainer.
//
//	read.go     nodes, blocks                     rows of nodes -> names, features; their faults
//	edges.go    edges, sources, targets, tiles    rows of edges -> tiles of edges between blocks, degrees
//	graph.go    the stages above in their order
//	print.go    print                             a hash of each block: the fingerprint
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
// What these share: wire.go and rows.go the bytes of records, model.go a model as a file of a stage, buckets.go records
// for many blocks, form.go and cells.go rows of tables that are read in place, registry.go the list of all stages.
//
// Features are dense in the hops of hop.go alone, and there sparse ones of more than 256 columns are a random
// projection of 256, which is enough to find clusters. Models multiply features by their weights before the first hop.
//
// A node is a place in a block. Its block is a hash of its id modulo the number of blocks, which follows from the
// number of nodes and of features alone; its place is its rank by id in the block, T's nodes before held-out ones.
// Tables have a record a block, so that a stage holds a few blocks at a time, whatever the graph.
package solved
