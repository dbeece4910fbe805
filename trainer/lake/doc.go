// Package lake has the steps of training on tables that need not fit into memory, which are programs without a state:
// Parquet in, Parquet out. An SQL engine adds up messages along edges between them (python/rivulet_mcond/lake).
//
// Of T, the nodes of training and those without a role, all tables have a column node: an integer that SQL gives to
// each node.
package lake
