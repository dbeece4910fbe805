// Package lake has the steps of training on tables that need not fit into memory, which are programs without a state:
// Parquet in, Parquet out. An SQL engine adds up messages along edges between them (python/rivulet_mcond/lake).
//
//	facts.go   Facts: what SQL has counted of the whole graph
//	sample.go  Sample: nodes and edges of a part of the graph, in memory
//	layer.go   Layer: nodes through one layer of a model, before and after a hop
//	rows.go    Rows: rows of M
//	parts.go   rows of tables by node, in memory
//	draft.go   what the steps leave to each other, in the directory of the artifact that is made
//	file.go    columns of a file, row by row
//
// Of T, the nodes of training and those without a role, all tables have a column node: an integer that SQL gives to
// each node.
package lake
