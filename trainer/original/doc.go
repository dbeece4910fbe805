// Package original holds T, the original graph, as tables of an engine, which need not fit into memory: on disk, or in
// Spark. A run (package trainer) fits weights and finds clusters on small data; this package does the steps that read
// all of T, by the stages of package solved, and returns their small results.
//
// A run calls the verbs of [Tables] in this order:
//
//	Read       rows of nodes and edges -> tables of the graph, its classes and its fingerprint
//	Prepare    the preprocessing, labelled rows of Â²·pre(X), the nodes held out with their edges to T; Take instead of
//	           it for an artifact that has a preprocessing
//	Subgraph   T in memory, or a part that fits, to fit models in it; Fetch for an sgc of labelled rows
//	Walk       a model through its hops on T
//	Condense   clusters, S, M and the tables of S, and of label and error propagation
//	Neighbours ids of neighbours, RowsOf rows of an artifact's M, both at the end
//
// # Files
//
//	rows.go        a data set as rows: of memory, or of tables; inplace.go: tables that Spark's machines read
//	tables.go      Tables: the graph read, the preprocessing fitted, features propagated
//	heldout.go     rows that are brought: of the nodes held out, of the nodes of T that they read, of labelled nodes
//	subgraph.go    a subgraph of T in memory
//	matches.go     whether an artifact is for the data
//	models.go      a model's hops: its tables, logits and messages on T
//	condense.go    clusters, A', X', M
//	propagation.go the hops of label and error propagation
//	mapping.go     rows of M: of all nodes a block at a time, and of some nodes; tables that arrivals read
package original
