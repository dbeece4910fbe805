// Package original holds T, the original graph, as tables of an engine, which need not fit into memory: on disk, or in
// Spark. A run (package trainer) fits models and makes S in a part of T that fits into memory; this package brings that
// part, and does the steps that give each node of T something, by the stages of package solved.
//
// A run calls the verbs of [Tables] in this order:
//
//	Read           rows of nodes and edges -> tables of the graph, its classes and its fingerprint; the nodes held out
//	BringSubgraph  T in memory, or a part that fits
//	Walk           a model through its hops on T
//	Pick           rows of the models' tables, for the nodes that the run reads
//	Solve          M, a row for each node of T
//	Propagate      tables of label and error propagation, on T and on S
//	Neighbours     ids of neighbours, RowsOf rows of an artifact's M, both at the end
//
// # Files
//
//	rows.go      a data set as rows: of memory, or of tables; inplace.go: tables that Spark's machines read
//	tables.go    Tables: the graph read; rows of tables that are brought to the run
//	heldout.go   the nodes held out, attached to some nodes of T
//	subgraph.go  a subgraph of T in memory
//	matches.go   whether an artifact is for the data
//	models.go    a model's hops and those of propagation: tables that arrivals read
//	mapping.go   rows of M: of all nodes a block at a time, and of some nodes
package original
