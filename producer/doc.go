// Package producer makes what a batch leaves behind durable: predictions and dead letters on their topics, and the next
// offsets of the arrivals in the consumer group.
//
// # At least once
//
// [Producer.Publish] returns when all in-sync replicas have acknowledged everything, and Commit commits the offsets. Whatever
// breaks in between repeats predictions and loses none. A repeated prediction is recognised by its headers (source topic,
// partition and offset, and artifact version); in frozen node batches it is the same bits.
//
// # Exactly once
//
// [Transactions.Publish] puts the records and the offsets of a batch into one transaction, and Commit or Abort ends it:
//
//	AddPartitionsToTxn ─▶ Produce ─────────────────────────────┐
//	                      AddOffsetsToTxn ─▶ TxnOffsetCommit ──┴─▶ EndTxn(commit), EndTxn(abort)
//
// A reader with isolation.level=read_committed sees each arrival predicted once; one that reads uncommitted records sees
// those of aborted transactions too. Three things keep others out, and each is needed (KIP-98, KIP-447):
//
//   - Transactional ids. Every partition of the arrivals has one, ID.topic.partition. A member writes under that of its first
//     partition, and at the beginning of a generation opens those of all its partitions ([Transactions.Begin]). That ends
//     at once what earlier owners have left open, whether they are dead or asleep, instead of after the transaction's
//     timeout; an owner that wakes up finds its epoch too low, whatever it sends. No instance needs a name of its own.
//   - The group's generation. TxnOffsetCommit carries member and generation, so a member of an earlier generation gets no
//     offsets into a transaction, also while nobody has fenced it yet.
//   - Stable offsets. Whoever takes over a partition asks for its offset in such a way that the broker does not answer before
//     the transactions that change it are over (package consumer).
//
// Requests are repeated while that helps: each does the same when it is done twice, and record batches carry sequences by
// which brokers know them. A commit whose answer is lost is asked for again, until it is known, before anything else; and
// after any lost answer the next transaction gets a new epoch, so that nothing that is still on its way is taken for a part
// of it. Coordinators that load or move, and transactions that are still being completed, are waited for; the codes are
// looked for in the results of single partitions too.
//
// Everything else ends the generation ([event.ErrGeneration]): fenced epochs, sequences out of order, a member that is not
// in the group any more, a transaction that took longer than its timeout. What was written is aborted. The consumer joins
// again, opens the ids again, and reads on from the offsets, which say what was committed: the batch in doubt is not
// repeated where it was. A member that stops reading for a rebalance may still finish its transaction, until the next
// generation begins.
//
// The price is four small requests a batch, and that read-committed readers wait for the batch's end. Brokers must be of
// version 2.5 or newer, and the user needs Write and Describe on the transactional ids (a prefix).
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
// larger than the topic takes, a transaction timeout beyond the brokers') is returned. A failed commit is returned too: the
// generation is over, and its successor reads the batch again.
//
// # Wire
//
// kafka-go encodes a record at a time through small writes; [recordBatch] writes whole batches of the v2 format into
// one buffer, which costs about a tenth, and leaves attributes, producer id, epoch and sequence at hand for transactions.
//
// Producer and Transactions start goroutines only inside a call, and wait for them.
package producer
