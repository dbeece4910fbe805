// Package partition has the stages that make the tables of a graph: rows of nodes and edges, as a user has them, become
// blocks of nodes and tiles of edges between blocks. They come before the stages of a method (package solved) and know
// no model.
//
//	graph.go    Read                              the stages below in their order: the graph as tables; their list
//	rows.go     Node, Edge, Names, Blocks         what a row is, and in which block a node lies
//	form.go     FormOf                            tables of Parquet that an engine's machines read in place
//	cells.go                                      their cells
//	read.go     nodes, blocks                     rows of nodes -> names, features; their faults
//	edges.go    edges, sources, targets, tiles    rows of edges -> tiles of edges between blocks, degrees
//	print.go    print                             a hash of each block: the fingerprint
//	buckets.go  Buckets                           records for many blocks, gathered in memory
//
// The number of a node is its block and its place there. Its block is a hash of its id modulo the number of blocks,
// which follows from the number of nodes and of features alone; its place is its rank by id in the block, T's nodes
// before held-out ones. Tables have a record a block, so that a stage holds a few blocks at a time, whatever the graph.
package partition
