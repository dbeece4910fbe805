// Package page is the live page: what the topics and the versions look like now, one arrival taken apart, and answers
// to arrivals that are written by hand.
//
// A [Page] is a process of its own beside the consumers. It is assigned all partitions, joins no group, commits
// nothing and reads committed records only. Its files (static) are HTML, styles and modules as they are sent; there
// is no build step, and nothing comes from elsewhere. All data are JSON below /api/.
//
//	page.go      the parts, and their life         http.go      requests and answers
//	guard.go     who may ask                       watch.go     the loops that follow topics
//	tally.go     all that is known of the stream   series.go    by the second
//	samples.go   which predictions are samples     window.go    classes, confidence and drift
//	dead.go      dead letters                      labels.go    accuracy by labels
//	answer.go    one arrival                       versions.go  what serves where, activating
//	plane.go     S in the plane                    form.go      forms of predictions
//
// # What is counted, and what is sampled
//
// Rates and totals are exact: they are differences of the offsets at which the partitions end, looked at twice a
// second. (In transactions each partition that was written to has one more offset, of the transaction's end.) The lag
// is the partition's end less what the group has committed.
//
// Everything else is of samples. Predictions are read whole, but only the samples are decoded: those for which a hash
// of the arrival's place ends with so many zeros that 150 to 300 a second are left. Where a partition runs more than
// backlog records ahead, the page passes over what is older and says how many that were.
//
// Latency to publish is the timestamp of the prediction's record less the arrival's ingest time: from the time that the
// arrival's producer, or its broker, gave it, to when the consumer made the prediction's record.
//
// # Memory
//
// Everything has a bound: [span] seconds of figures, the last samples and dead letters, places of the last predictions
// by the hash of their key, and as many classes, reasons, versions and marks as the constants say.
package page
