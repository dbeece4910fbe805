// Package outofcore merges arrivals and labels into a graph of tables that need not fit into memory, by the rules of
// package [rivulet/trainer/merge].
//
//	m, err := outofcore.NewMerger(tables, scratch, disk)
//	err = m.Arrival(&a)                  // each arrival of the stream, in its order
//	err = m.Label(&l)                    // each label, before or after its arrival
//	grown, report, err := m.Grow(ctx, false)    // tables below scratch
//	err = grown.Install(disk, dir, …)    // moved to where they stay
//
// Arrivals and labels go to Parquet files of a bounded size as they come. Grow reads them and the tables again:
//
//	ids      of nodes, arrivals and labels go to buckets by their hash; a bucket in memory decides which arrivals join T
//	         and which nodes have another class
//	nodes    the table of nodes with these changes, and the arrivals that join, in their order
//	ends     edges of arrivals, and those that wait, go to buckets by the id of the end that may not be known; those that
//	         are known go to buckets by both ends, in which repetitions are found, and the others wait
//	edges    the table of edges, and the new ones
//
// In memory are a bucket, a part that is not full yet and the decisions on some hundred thousand rows at a time.
//
// What differs from a merge in memory: nodes in no role are as if they were not there, so that an edge to one of them waits for its
// arrival.
//
// The grown graph is a directory:
//
//	nodes.parquet, edges.parquet   tables that [rivulet/dataset/parquet.Format] reads
//	labelled.parquet               ids of the nodes whose class came from a label
//	waiting.parquet                edges to ids that have not arrived, in the order in which they came
//	tables.json                    classes in their order, nodes of T, the schema of the features' positions
package outofcore
