// Package producer makes records of what a batch leaves behind, predictions and dead letters, and has package kafka
// publish them: at least once, or exactly once in transactions.
//
// A prediction is published under its arrival's key, so the predictions of one key keep the order of its arrivals.
// Headers name the arrival's topic, partition and offset, and the artifact; a prediction that is repeated is
// recognised by them, and in frozen node batches it is the same bits. A dead letter is the record as it came, with
// the reason and its origin in headers; one that is too large to be published loses its value, then its headers or
// its key.
//
// # At least once
//
// [Producer.Publish] returns when all in-sync replicas have everything; the delivery's Commit then commits the offsets.
// Whatever breaks in between repeats predictions and loses none.
//
// # Exactly once
//
// With [Options.Transactions] the records and the offsets of a batch are in one transaction, which Commit ends. Any
// failure ends the generation: the consumer joins again, and reads on from the offsets, which say what was committed.
// How that is done, and what keeps others out, is in the doc of package kafka.
package producer
