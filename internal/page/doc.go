// Package page is the live page: the present state of topics and versions, one arrival taken apart, and answers to
// arrivals that are written by hand.
//
// A [Page] is a process of its own beside the consumers. It is assigned all partitions, joins no group, commits nothing
// and reads committed records only. Its files (static) are HTML, styles and modules, served as they are; there is no
// build step, and nothing comes from elsewhere. All data are JSON below /api/.
//
// # Counts and samples
//
// Rates and totals are exact: they are differences of the offsets at which the partitions end, looked at twice a
// second. (In transactions each partition that was written to has one more offset, of the transaction's end.) The lag
// is the partition's end less the group's committed offset.
//
// Everything else is of samples. Predictions are read whole, but only the samples are decoded: a prediction is one if a
// hash of its arrival's place ends with so many zeros that 150 to 300 a second are left. If a partition runs more than
// backlog records ahead, the page passes over the older ones and shows their number.
//
// Latency to publish is the timestamp of the prediction's record less the arrival's ingest time: from the time that the
// arrival's producer, or its broker, gave it, to when the consumer made the prediction's record.
//
// # Memory
//
// Everything has a bound: [span] seconds of figures, the last samples and dead letters, places of the last predictions
// by the hash of their key, and as many classes, reasons, versions and marks as the constants say.
package page
