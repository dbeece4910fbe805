// Package consumer takes arrivals from a Kafka topic to predictions on another.
//
// # The path of a record
//
// [Pipeline.Process], one function in pipeline.go, is the whole path: decode, look up rows of M, attach to S, forward
// and propagate; wait for the turn, publish, write and remove rows of arrivals, hand over to the committer. It knows no
// Kafka. The command
// that predicts a file of arrivals feeds it lines, and its Deliverer writes lines.
//
// The bounds of a record are [event.Limits], and arrivals that wait for edges of their own in package window.
// Everything of Kafka is in package kafka: the member of the group, offsets and where to begin, fetches, and waiting
// for brokers.
//
// # Goroutines
//
// Run, and for each generation of the group:
//
//	                        queue (unbuffered)      line (one turn)
//	reader, one a partition  ──chunk──▶ batcher ──batch──▶ lane ──▶ Process ──▶ Publish ────────────┐
//	reader  ─────────────────chunk──▶  (run by     ──batch──▶ lane ──▶ Process ──▶ Publish behind it ─▶ committer
//	watcher: new partitions             the lane that
//	grace: cuts the work off            is free)
//
// A lane that is free takes the line, forms a batch, takes the next place in the order, and hands the line on; then it
// takes the batch down the path. So batches form in order, are computed and encoded side by side, and are published in
// order: a batch waits for its turn, and is given up if a batch before it failed. When it is published, and its rows
// are written, the lane hands it to the committer and is free.
//
// The committer commits what has finished from the front on, with one request at a time, as a request takes a broker
// some
// 5 to 10 ms whatever it holds. At least once, batches are published while a commit is under way, and the next one
// takes all of them. Exactly once, batches that are ready go into one transaction, and its end commits all. A batch
// never waits for one that is not ready, so a stream that is not behind has a commit for each batch; with
// Options.CommitInterval commits wait for more. Five lanes are the default: some batches are published while others are
// computed.
//
// serve waits for all of these, the group waits for serve before it joins again, and Run waits for the group. Nothing
// outlives Run but connections of the Client, which belong to the caller.
//
// # Memory
//
// Back-pressure is the unbuffered queue: a reader holds one chunk and fetches no more until a lane takes it. So at most
// 64 MiB wait, as they came over the wire, however slow the output is.
//
// A batch has at most Options.BatchBytes of records, or one larger record. Decoded, a list of short ids is up to twenty
// times its bytes. The next batch of a lane uses the memory again unless it is unusually much (maxKept); a dead
// letter's memory is dropped at once.
//
// The ids of a batch are parts of its records' memory, which nobody changes ([read.Reader.InPlace]). Each id keeps
// everything alive that was fetched together with it. So a batch drops its ids at its end, as it drops its records
// (batch.shed), and caches and observers that keep an id clone it.
//
// # Guarantees
//
//   - Offsets are committed after everything of their batch, and of all batches before it in the generation, has been
//     acknowledged. Nothing is lost; records that were published and not committed are published again.
//   - Commits carry the generation and its member id. The broker refuses commits of an earlier generation; a refused
//     commit ends the generation, and the records are read again. A coordinator that is away for a moment is waited for
//     within the generation.
//   - When a rebalance begins, reading ends at once. Batches that are under way have half the rebalance timeout to be
//     delivered and committed, while the group waits for this member; a batch that was only being formed is dropped.
//   - The predictions of one key keep the order of its arrivals, repetitions aside.
//   - A batch is served by one version.
//   - Where arrivals wait for edges ([Options.Window]), a commit says from where to read the log again, too.
//   - No record stops the stream: a record that cannot be predicted becomes a dead letter with the reason and the
//     source. So does a record that the brokers refuse for its content, or it is dropped; its arrival gets no row.
//
// # Waiting, and the end of Run
//
// Waited for, with growing pauses, one warning when it begins and one line when it is over: a first version, topics
// that do not exist, brokers, coordinators, leaders, the row store. When the row store is down the batch in hand is
// tried again from its records, with whatever version is current then. Run ends with an error for missing rights and
// wrong passwords of Kafka, for missing rights at the row store, and for errors of the Deliverer, unless these end the
// generation only ([retry.Judge]). A damaged row neither waits nor ends Run: its id is unread, and the prediction is
// marked as degraded. In the order of a stream's life:
//
//	broker unreachable, hung up,   waited for: a network comes back, a certificate is renewed. consumer check tells
//	TLS refused                    them apart
//	wrong password, missing ACL    Run ends. A topic that may not be seen is told from a missing one where the Client
//	                               is told its topics by name
//	unknown topic                  waited for before joining; never created, though brokers may allow it
//	topic that others create       read from its beginning, whatever Start says: it is younger than this consumer
//	no committed offset            SourceOptions.Start; any other start than Earliest is committed at once
//	offset out of range            read on at the earliest there is, with a warning that names both: records have expired
//	                               (they are lost), or the topic is another one (they may come again)
//	leader moved                   fetched from the new one within the Client's MetadataTTL
//	coordinator moved, restarted   heartbeats and commits are tried again within the generation, for a session at most
//	broker restarted               all of the above
//	new partitions                 found by looking (WatchInterval), a rebalance; read from their beginning
//	topic deleted                  waited for within the generation; when it is there again a rebalance begins, and the
//	                               group's offsets, which went with the old topic, are asked for anew
//
// # Arrivals as nodes
//
// With [PipelineOptions.Arrivals] each predicted arrival gets a row of M of its own, and later arrivals attach to it.
// The rows are solved beside the publication of the batch and written after it, before its offsets are committed: at
// least once they delay no prediction of their batch, exactly once they are in its transaction's time, and no committed
// arrival is without its row. From then on every consumer of the version finds the row; batches already under way do
// not see it. Then:
//
//   - A node of T is never an arrival. An id that comes again gets the row of its last arrival. Arrivals whose
//     prediction is degraded or not finite get no row.
//   - In a node batch a prediction depends on its own arrival and on the rows that were there when it was looked up. So
//     a record that is predicted again, after a crash before the commit, may be attached to arrivals that came in
//     between. Under exactly_once nobody has seen the first prediction.
//   - Rows belong to a version and go with it: a new one begins without any. When the limit of rows is reached,
//     arrivals are predicted as ever and get none.
//   - With [PipelineOptions.Forget] the row of an id goes where a record asks to forget it. The last record of an id in
//     a batch decides whether its row is written or removed. Between batches their turns to be published give the
//     order: a batch writes and removes rows after the batches before it, and before the one behind it is published.
//     Arrivals behind such a record in its batch, and batches that looked rows up before its turn, may still use the
//     row.
//   - While rows cannot be written the batch waits, published and not committed, as it does while brokers are away. If
//     the wait is cut off, the delivery is aborted.
//
// # Stopping
//
// Soft: the context of Run ends. A batch that is being formed closes, all batches are delivered and committed, and the
// member leaves the group. Hard: after Options.DrainTimeout their contexts end too, and Run returns [ErrDrainTimeout];
// predictions that they published and did not commit will be repeated.
package consumer
