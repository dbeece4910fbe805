// Package solved has the stages of method solved (docs/algorithm.md, section 5): the steps that work on the whole
// graph. The rest, which fits weights and makes S in a subgraph that fits into memory, stays with the run that calls
// them, package trainer. They read the tables of a graph that package partition has made: blocks of nodes, and tiles of
// edges between blocks.
//
//	prepare.go  -                                 a block's features, preprocessed, and its degrees
//	hop.go      -                                 the two stages of any hop: what is sent, and the sums at each node
//	held.go     held                              nodes that are held out, with their neighbours
//	subgraph.go mark, reach, near, thin, number,  T or a subgraph of it in memory; meet.go: meet, for the edges among its
//	            bring, link                       nodes
//	walk.go     enter, step, take                 a model's hops on T by infer.Recurrence: its tables and logits
//	spread.go   seeds, spread, gather             label and error propagation
//	pick.go     pick, pickrows                    rows of these tables, and of M, for the run
//	solve.go    solve                             rows of M; messages.go: tables -> messages
//
// model.go has a model as a file of a stage, registry.go the list of all stages, and package wire the bytes of records.
package solved
