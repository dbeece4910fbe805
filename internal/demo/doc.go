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
//
// Of a stream by which the graph grows ([Grow]):
//
//	grow.go          three streams, on services of their own
//	grow_plan.go     which nodes arrive in which order, and what edges they name
//	grow_send.go     sending at a rate, and waiting for the refresh where the stream is ahead of it
//	grow_refresh.go  arrivals and labels so far become part of T, and a new artifact takes over
//	grow_answers.go  what the stream said of whom, and pauses
//	grow_report.go   the tables and the JSON object
package demo
