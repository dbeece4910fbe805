// Package serve answers arrivals over HTTP, for whoever cannot wait for a topic. docs/serve.md is for users.
//
// # The way of a request
//
//	server.go    routes, the token, bodies up to a size, errors as JSON
//	split.go     a body -> the text of each arrival
//	records.go   POST /predict, /explain: each arrival as a record, and the answers as JSON
//	oip.go       the Open Inference Protocol: paths and documents
//	tensors.go   its tensors, as JSON and binary -> records; answers -> tensors
//	batcher.go   what waits, and micro-batches of it
//	lane.go      a micro-batch on the path of a record, consumer.Pipeline, and its answers back to who asked
//
// An arrival goes the path that a record of the stream goes, so it gets the same bits: a request's arrivals are
// records without a topic whose offsets are their places in the request. Only what the stream does after a
// prediction is missing: nothing is published and no offset is committed, and rows of arrivals are read and
// never written.
//
// # Goroutines
//
//	handler, one a request ──asked──▶ queue ──▶ lane ──▶ Pipeline.Process ──▶ Publish: answers to each asked
//	        ◀──────────────────── done ─────────────────────┘
//
// A lane that is free takes what waits, up to a size, and at once unless linger says to wait for more. While
// lanes are busy, what comes waits and forms larger micro-batches. A request is never divided, so one version
// answers all of it. A model in joint attachment, whose predictions depend on their company, gets each request
// as a batch of its own.
//
// A handler whose request ended, by its time-out or because the client left, does not wait for its lane: answers
// belong to the lane until it says that it is done, and to nobody where no handler waits.
//
// # Memory
//
// The bodies of all requests under way are counted before they are read ([Limits].QueueBytes), and the arrivals
// that wait ([Limits].QueueArrivals). What is beyond is refused with 429.
package serve
