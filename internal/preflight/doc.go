// Package preflight tries, before an artifact is written, whether consumers can serve it: a trainer must not accept in
// silence data that consumers refuse.
//
//	limits.go    nodes of a data set that a consumer would make dead letters of: [Limits]
//	answers.go   nodes of each role, sent through the consumer's own decoder and pipeline, and compared with the
//	             trainer's answers: [Answers]
//	sample.go    the same with a small model of a sample, before there is an artifact: [Sample]
//
// The rules themselves are the consumer's (package consumer, limits.go). Nothing is repeated here.
package preflight
