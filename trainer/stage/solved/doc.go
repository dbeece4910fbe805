// Package solved has the stages of method solved (docs/algorithm.md, section 5): what of it is as large as the graph.
// The small rest, which fits weights, finds clusters and solves what is N'×N', stays with the run that calls them,
// package trainer.
//
//	read.go     nodes, blocks                     rows of nodes -> names, features; what is wrong with them
//	edges.go    edges, sources, targets, tiles    rows of edges -> tiles of edges between blocks, degrees
//
// A node is a place in a block. Its block is a hash of its id modulo the number of blocks, which follows from the number of
// nodes and of features alone; its place is that of its id in the block, T's nodes before those that are held out. Tables have
// a record a block, so that a stage holds a few blocks at a time, whatever the graph.
package solved
