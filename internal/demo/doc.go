// Package demo runs the main job in one process: train on a data set, or take an artifact of it, publish to an embedded Redis,
// start an embedded broker and the consumer, stream the test nodes as arrivals, read the predictions topic, and compare.
//
// Only the services are embedded. The arrivals pass through the same consumer as in production, over sockets.
//
//	run.go       the whole job on one screen
//	feed.go      one stream through a consumer
//	tally.go     what arrived, was predicted and published, and when
//	labels.go    the classes of arrivals, published once they have been predicted
//	read.go      the predictions topic, as a recommendation feed would read it
//	report.go    the table and the JSON object
package demo
