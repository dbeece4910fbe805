// Package kafka is the door to Kafka: only it and the packages below it import kafka-go, and all workarounds for
// kafka-go are here. It knows no graph, and imports nothing else of this module.
//
// Below it: package group joins a consumer group, sends its heartbeats and leaves it, package fetch has many partitions
// share a request, package txn sends the requests of a transaction to its coordinator, package wire writes and reads
// record batches and requests byte by byte, package marks the text beside a committed offset, package retry classifies
// errors and waits, and package balance shares out partitions.
//
// # Reading
//
// A [Source] is a member of a consumer group. [Source.Join] returns one [Generation] after the other. A generation
// gives a [Cursor] for every assigned partition, and commits offsets in its own name: the broker refuses commits of an
// earlier generation. When a rebalance begins, the group waits for [Generation.End], so that records already read can
// still be committed. All members stop for a rebalance. The pause of a member lasts from the heartbeat by which it
// hears of the rebalance until the last member has joined, so it is at most SourceOptions.Heartbeat and the time of the
// last batches. A static member (SourceOptions.Instance) that restarts begins no rebalance.
//
// A small record batch may unpack to any size, so a [Cursor] unpacks it piece by piece: for each partition a few MiB of
// records and one record are in memory. A record larger than SourceOptions.RecordBytes is given without its value, with
// its [Damage]. If the records of a batch cannot be told apart, one record with its Damage stands for the whole batch:
// the checksum is wrong, the compression is unknown or broken, or the batch unpacks to more than a GiB and to more than
// 64 times its size. Reading goes on after it. Message formats 0 and 1, which only logs from before Kafka 0.11 hold,
// are not read: each of their messages is one record with Damage.
//
// Cursors of one broker share requests ([fetch.Pool]): a consumer has at most four connections for fetches to each
// broker, whatever the number of partitions. A cursor asks for more once its records have been taken, so that one that
// nobody reads holds no other up. The records of an answer for several partitions have at most 8 MiB, or are one record
// batch. A failure of one partition is that partition's alone.
//
// An offset means something in one log only. Where brokers know topics by ids (Kafka 2.8; in fetches, 3.1), each
// offset is committed with the topic's id and with the leader's epoch of the record before it. If a topic was deleted
// and made anew, its old offsets are not used: the generation ends, and the next one begins at the new topic's
// beginning. A new leader is asked where the records of the last epoch that was read end in its log (KIP-320); so is
// the leader where an offset is out of range. If they end before the position, the generation ends, too, and the next
// one reads from there on. If nobody knows, it reads from the earliest offset on. Records that are gone are logged and
// reported to the [retry.Observer]. Brokers before 2.8 are asked by name, after one warning.
//
// A [Reader] reads a topic outside of any group's generations: to where it ends now, or following it.
//
// # Publishing
//
// A [Sink] fills a [Shipment] with records, and publishes it in two verbs. Publish makes the records durable, or a
// part of a transaction; the [Delivery]'s Commit makes the offsets so, and ends the transaction. Whatever breaks
// between the two of [Sink.Publish] repeats records and loses none. [Transactions.Publish] repeats none either:
//
//	AddPartitionsToTxn ─▶ Produce ─────────────────────────────┐
//	                      AddOffsetsToTxn ─▶ TxnOffsetCommit ──┴─▶ EndTxn
//
// A reader with isolation.level=read_committed sees each record once; one that reads uncommitted records also sees
// records of aborted transactions. Three mechanisms keep other members out (KIP-98, KIP-447):
//
//   - Transactional ids. Every input partition has one, id:topic:partition. A member writes under the id of its first
//     partition, and at the beginning of a generation opens the ids of all its partitions ([Transactions.Begin]).
//     Opening ends at once the transactions that earlier owners left open, dead or asleep, which else would last until
//     their timeout; an owner that wakes up finds its epoch too low, whatever it sends. No instance needs a name of its
//     own.
//   - The group's generation. TxnOffsetCommit carries member and generation, so a member of an earlier generation
//     gets no offsets into a transaction, also while nobody has fenced it yet.
//   - Stable offsets. A member that takes over a partition asks for its stable offset: the broker refuses to answer
//     until the transactions that change the offset are over.
//
// Requests are repeated while that helps: each does the same when it is done twice, and record batches carry sequences
// by which brokers know them. A commit whose answer is lost is repeated until it is answered, before anything else; and
// after any lost answer the next transaction gets a new epoch, so that a late request is not taken for a part of it.
// Coordinators that load or move, and transactions that are still being completed, are waited for; the codes are looked
// for in the results of single partitions too. The price is four small requests a shipment, and that read-committed
// readers wait for its end. Brokers must be of version 2.5 or newer, and the user needs Write and Describe on the
// transactional ids (a prefix).
//
// A record goes to the partition that the Java client's default partitioner would choose for its key (murmur2), so the
// records of one key keep their order: a partition has one request under way at a time, and nothing overtakes a request
// that is repeated. Records without a key have no order to keep: one shipment sends them all to one partition, the next
// shipment to the next partition.
//
// # Errors
//
// [retry.Judge] classifies them. Retriable: [retry.Attempts] waits for brokers, leaders, coordinators and topics, with
// growing pauses, until the context ends. The log has a line when that begins and a line when it is over, and an
// [retry.Observer] hears of each attempt. GenerationOver: the member joins again, opens its transactional ids again,
// and reads on from the committed offsets. Permanent: missing rights, wrong passwords, a mistake in the wiring; nothing
// waits for them. An error that does not come from Kafka is permanent if its method Permanent() bool says so. Content:
// a broker refuses a record batch for its content. A sink then
//
//   - splits a batch that is too large for its topic, and fills the next ones less (the topic's max.message.bytes is
//     not asked for: that is a right of its own),
//   - leaves out single records that are refused all the same, and returns them as [Refusal]. The caller may publish
//     something else in their place, in the same transaction.
//
// In a transaction the batches that replace a refused one take over its sequences, which the broker has not used. A
// refused timestamp is retriable: a clock is wrong, and the batch waits until it is right (timestamps.go).
//
// # Around kafka-go
//
// The list names everything that these packages do themselves although the library offers something like it, the
// reason, and the test that fails without it. A test with a package's name is in that package, the others are here.
// Numbers are issues of segmentio/kafka-go. Requests that the library lacks altogether are described by kmsg
// (wire/request.go) and go over the library's connections: wire.TestRequestsOnTheWire,
// wire.TestAnswersThatAreNoneAreErrors.
//
//   - Its Reader keeps what it has fetched across a rebalance, so it hands out records of partitions that another
//     member owns now (1398) and may commit them under the new generation (1308). Its ConsumerGroup has no instance
//     ids, ends a generation at the first heartbeat that fails, sends none while a member finishes its last batches,
//     leaves only after its join is answered, and takes an error of OffsetFetch for "none committed". Here package
//     group asks in kmsg's form, cursors fetch, and each generation asks for its offsets anew.
//     TestAStaticMemberComesBack, TestAnEndedGenerationCommitsNothing, TestLeavingInALaterJoin,
//     TestHeartbeatsGoOnInADrain, consumer.TestAFailedOffsetFetchIsNotTakenForNoOffset,
//     consumer.TestRebalanceLosesNothingAndKeepsTheOrderOfKeys.
//   - Its balancers share out the partitions that the leader's broker knows, and metadata is not the same at all
//     brokers. The balancer goes by the most partitions that any member has seen of the topic that is there now, and a
//     member asks again where the assignment lacks partitions or has some that do not exist.
//     TestPartitionsThatAreAssignedToNobodyAreAskedFor, consumer.TestATopicMadeAnewWithOtherPartitionsIsRead.
//   - OffsetFetch ends at version 5, which cannot ask for stable offsets (KIP-447, version 7). offsets.go asks in
//     kmsg's form. wire.TestRequestsOnTheWire, consumer.TestOffsetsOfAnOpenTransactionAreWaitedFor.
//   - Client.Heartbeat reads the two fields of the answer in the wrong order, so that it finds no error in any
//     answer, and its version 4 names another group. Package group asks in kmsg's form.
//     TestAnEndedGenerationCommitsNothing, check.TestAllIsWell.
//   - Client.Fetch unpacks a whole answer, whatever it comes to: 28 KB of zstd took 524 MiB. It hides where control
//     batches end, so that a reader which finds nothing else asks for the same offset for ever, and does not leave
//     out the records of aborted transactions (1332). Package fetch asks in kmsg's form, which leaves the batches
//     packed, by the topic's id where brokers take that, for many partitions at once, and wire/reader.go reads them.
//     TestConnectionsDoNotGrowWithPartitions, TestOlderBrokersAreReadByName,
//     consumer.TestACompressionBombIsADeadLetter, TestFetchPassesOverAbortedTransactionsAndControlRecords.
//   - Its Metadata ends at version 8, before ids of topics, and it has no OffsetForLeaderEpoch. topicid.go asks for
//     both in kmsg's form. consumer.TestATopicMadeAnewIsReadFromItsBeginning,
//     consumer.TestALogThatDividesIsReadFromThere.
//   - Generation.CommitOffsets commits no epoch and no metadata, Client.OffsetCommit the epoch 0, and asks for the
//     coordinator before each commit. offsets.go commits both to a coordinator that it knows.
//     consumer.TestAnOffsetOfADeletedTopicIsNotUsed.
//   - Its zstd codec takes windows of 512 MiB, and its snappy codec believes any length. wire/unpack.go bounds both.
//     wire.TestClaimsTakeNoMemory.
//   - A context's deadline closes the connection. Deadlines are for brokers that hang, far beyond the wait that a
//     request asks for; pauses use timers. TestAnIdleFetchKeepsItsConnection.
//   - There is no transactional or idempotent writer (897, 797). Package txn sends the requests of the protocol; codes
//     55 and 120 have no names there. TestATransactionCommitsAllOrNothing, TestLostAnswersRepeatNothing.
//   - Records are encoded one at a time through small writes. wire/batch.go writes whole batches into one buffer, for
//     about a tenth of the time, with room for producer id, epoch and sequence. wire.TestRecordBatchProperty,
//     wire.BenchmarkRecordBatch.
//   - A transport that is not told its topics takes one that it may not see for a missing one. [Options] names them.
//     app.TestRefusalsEndTheConsumer.
package kafka
