// Package stream is one stream of a run of package chaos: topics, a load, the consumers of one group, and readers that
// note what was sent and answered.
//
//	stream.go        its kinds, its parts, and the configuration of its consumers
//	load.go          the sender of arrivals
//	edges.go         arrivals whose edges are sent apart, and ids that are forgotten
//	labels.go        arrivals that have labels
//	transactions.go  arrivals in transactions that are committed or aborted
//	life.go          the topic of arrivals made anew, or cut off
//	reader.go        the readers, which fill the ledger
//	judge.go         predictions of arrivals that waited for edges, and forgotten ids, judged at the end
//	tables.go        arrivals and edges that are rows of tables, which the consumers bring to the topic of arrivals
//	revisions.go     arrivals that were predicted again, noted and judged
package stream
