// Package producer makes what a batch leaves behind durable: predictions and dead letters on their topics, then the
// offsets of the arrivals in the consumer group.
//
// [Producer.Deliver] is at-least-once. Everything is acknowledged by all in-sync replicas before the first offset is
// committed, so whatever breaks in between repeats predictions and loses none. A repeated prediction is recognised by
// its headers (source topic, partition and offset, and artifact version); in frozen node batches it is the same bits.
//
// # Order
//
// A prediction is published under its arrival's key, on the partition that the Java client's default partitioner would
// choose (murmur2), so the predictions of one key keep the order of its arrivals: a partition has one request under way
// at a time, and nothing overtakes a request that is repeated. Records without a key have no order to keep; those of
// one delivery go to one partition, and the next delivery to the next.
//
// # Errors
//
// Leader changes, lost connections, missing replicas and missing topics are waited for, with growing pauses, until the
// context ends; each attempt is reported to Options.OnRetry. What cannot get better by itself (no permission, a record
// larger than the topic takes) is returned. A failed commit is returned too: the generation is over, and its successor
// reads the batch again.
//
// # Wire
//
// kafka-go encodes a record at a time through small writes; [recordBatch] writes whole batches of the v2 format into
// one buffer, which costs about a tenth, and leaves producer id and attributes at hand for transactions.
//
// A Producer starts goroutines only inside a call, and waits for them.
package producer
