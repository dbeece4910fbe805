// Package demo runs the main job in one process: train on a data set, or take an artifact of it, publish to an
// embedded Redis, start an embedded broker and the consumer, stream the test nodes as arrivals, read the
// predictions topic, and compare.
//
// Only the services are embedded. The arrivals pass through the same consumer as in production, over sockets.
//
//	run.go       the whole job on one screen
//	feed.go      one stream through a consumer: sent by a replay, its predictions read as a recommendation feed reads
//	             them
//	tally.go     counts and times of arrivals, predictions and publications
//	labels.go    the classes of arrivals, published once they have been predicted
//	settle.go    waits until all arrivals are answered, and sums up
//	page.go      the live page beside the demo
//	report.go    the table and the JSON object
//
// For a stream by which the graph grows ([Grow]):
//
//	grow.go          three streams, on services of their own
//	grow_plan.go     which nodes arrive in which order, and the edges that they name
//	grow_refresh.go  a round of package refresh in mid-stream, which a faster stream waits for
//	grow_answers.go  the answers to each arrival, and pauses
//	grow_report.go   the tables and the JSON object
package demo
