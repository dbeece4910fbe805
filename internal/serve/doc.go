// Package serve answers arrivals over HTTP, for clients that cannot wait for a topic. docs/serve.md is for
// users.
//
// # The way of a request
//
// An arrival goes the path that a record of the stream goes, so it gets the same bits: a request's arrivals are records
// without a topic whose offsets are their places in the request. Only the stream's steps after a prediction are
// missing: nothing is published and no offset is committed, and rows of arrivals are read and never written.
//
// # Goroutines
//
//	handler, one a request ──asked──▶ queue ──▶ lane ──▶ Pipeline.Process ──▶ Publish: answers to each asked
//	        ◀──────────────────── done ─────────────────────┘
//
// A free lane takes the waiting requests, up to a size, and at once unless linger says to wait for more. While lanes
// are busy, requests wait and form larger micro-batches. A request is never divided, so one version answers all of it.
// A model in joint attachment, whose predictions depend on the batch, gets each request as a batch of its own.
//
// Explanations cost a hundred predictions each, so they have a lane of their own in which requests take turns of a few
// arrivals: a request of one waits for a turn of a request of a thousand, not for all of it.
//
// A handler whose request ended, by its time-out or because the client left, does not wait for its lane: answers
// belong to the lane until it says that it is done, and to nobody where no handler waits.
//
// # Memory
//
// The bodies of all requests under way are counted before they are read ([Limits].QueueBytes), and the arrivals that
// wait ([Limits].QueueArrivals). Requests beyond that are refused with 429. Connections and the time of clients are
// bounded by package httpd.
//
// # Metrics of the server
//
//	rivulet_http_requests_total{route,status}, rivulet_http_request_seconds{route}
//	rivulet_http_waiting_arrivals, rivulet_http_body_bytes
//	rivulet_http_tokens                                  valid tokens of serve.token_file
//	rivulet_http_token_file_unreadable                   1 while that file cannot be read and earlier tokens stay valid
package serve
