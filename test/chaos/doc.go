// Command chaos shows the outcome of arrivals when something breaks: consumers, brokers, Redis, the network between
// them, topics, clocks, records and artifacts. It runs the real programs as processes, on a real Kafka
// (tools/kafka/kafka.sh) and a real Redis (redis-server) that it starts itself, breaks them by a schedule that
// depends on a seed, and compares every answer with the arrivals. It ends with status 1 if a promise was broken, or
// if a fault had no effect.
//
//	go run ./test/chaos -seed 1 -time 10m faults    # a table, in Markdown
//	go run ./test/chaos -time 30m soak              # memory and goroutines at a steady rate
//
// # The streams
//
// Four streams run side by side, of two consumers each: delivery at_least_once and exactly_once, both with
// redis.outage wait and degrade. Two of them grow (attach.arrivals), one has graph batches, and the arrivals of each
// are compressed by another codec. Arrivals come as JSON, Protobuf and Avro, by schemas of a registry, by a mapping,
// and without features, which are then in a Redis of their own; predictions are JSON, Protobuf and Avro. Each stream
// has topics and a group of its own; they share the brokers, Redis and the artifacts. A sender writes arrivals at a
// steady rate, past the proxies, and another one writes some into transactions, which it commits and aborts by turns.
// A reader, which sees committed records only, reads arrivals, predictions and dead letters. Rows of arrivals live for
// a shorter time than an arrival takes to come again, so that neighbours come and go all the time. Beside the streams,
// clients ask rivulet serve and the live page.
//
// In two of the streams edges come as records of their own, and arrivals wait for them for 2 s (attach.wait): in the
// first and third with an odd seed, in the others with an even one. Of four arrivals, three have one to four edges
// apart, before and after them in a random order. Of six such arrivals, four are complete in time, one has an
// edge_count that is too high by one, and one may have edges that come too late. Every second of these arrivals and
// its edges are rows of two tables, topics of their own that the consumers repartition: each edge comes under the ids
// of both its ends. In a stream that does not grow, arrivals are updated for 8 s (attach.update_age): a late edge has
// them predicted again (attach.update predict). -update says what streams that grow do. In streams that no refresh
// reads, two ids a second are predicted, get edges late, and are then forgotten, by a tombstone or by a record that
// says so.
//
//	main.go              flags, and the two commands
//	asks.go              rivulet serve and the live page, asked while faults happen
//	labels.go            what consumers count of labels
//	faults.go            the list of faults; faults of consumers
//	faults_kafka.go      faults of brokers
//	faults_election.go   a leader that lacks records, while arrivals wait
//	faults_topics.go     faults of topics
//	faults_offsets.go    faults of a group's offsets: reset, expired, begun at latest
//	faults_redis.go      faults of Redis
//	faults_sources.go    faults of the schema registry and the features by id
//	faults_artifacts.go  faults of versions: publish, swap, prune
//	refresh.go           faults of refreshes
//	schedule.go          in which order faults come, window by window
//	hostile.go           records that are hard to take
//	windows.go           consumers killed at a moment of a delivery, or while they join
//	judge.go             the end of a run: streams judged, graph batches predicted again, what the oracle is given
//	judge_forgotten.go   ids that were forgotten, looked for in Redis after each fault
//	soak.go              the steady rate
//
// The packages below are what these use:
//
//	world/      the directory of a run: programs, artifacts, services
//	versions/   artifacts that are published, and what each says of every arrival
//	stream/     one stream: its load, its readers, and the judgement of arrivals that waited
//	ledger/     what happened to each arrival, and which promise that breaks
//	oracle/     which predictions are right where neighbours are arrivals, or were not read
//	edges/      which edges an arrival has that waited for them, by the log alone
//	forget/     ids that are forgotten: their tombstones, and what is stored of them
//	rows/       rows of arrivals, as Redis has them
//	record/     arrivals in each form, poison, a schema registry
//	client/     a client of rivulet serve and the live page
//	labels/     labels of arrivals, and the judgement of consumers' counts of them
//	trap/       proxies that see a moment of a delivery, and kill the consumer
//	services/   Kafka, Redis and the proxies before them
//	member/     a consumer as a process
//	refresher/  trainer refresh as a process
//	gauge/      what the soak measures
//
// Networks that can be cut and listened to, Redis servers and Kafka brokers are in test/harness.
//
// Consumer i of every stream reaches Kafka and Redis through proxies of its own, so that it can be cut off alone. For
// Kafka each broker has a listener for each of these proxies, which tells clients to come through it.
//
// # Windows
//
// A fault has a window: it begins with all earlier arrivals answered, and lasts until all sent before the fault was
// over are answered. An error counts for the window in which the arrival was sent. Each fault sees for itself that it
// took effect (a member is gone from its group, another broker leads, a topic refuses a record), else the run ends
// with an error. Only among three at once it need not: one may prevent the other.
//
// # Checks
//
// The ledger checks:
//
//   - Each arrival is answered, by a prediction or, if it is poisoned, by a dead letter with the right reason: the
//     rest is lost. Records that were deleted before they were answered, and those of a topic that was deleted, do
//     not count. Tombstones, arrivals in transactions that were aborted, and those before the place at which a group
//     begins (start_offset latest) are not answered. What is read again, as offsets were reset, is answered again.
//   - Dead letters have the value and the headers of their records, unless they say that parts were left out.
//   - In exactly_once it is answered once. In at_least_once the arrivals of a window that are answered more than once
//     are no more than were in flight: consumers × lanes × batch.size, for each blow of the fault and each further
//     generation of the group.
//   - The first answers to the arrivals of one key and partition come in their order, predictions and dead letters.
//   - A prediction that is not marked as degraded, and that no arrival was a neighbour for, equals, bit for bit,
//     logits included, the output of `rivulet predict` for that arrival with that artifact: so rows and S belonged to
//     one version.
//   - Whatever an arrival was attached to: all answers of one version to one record are the same, bit for bit, also
//     answers of a consumer that was killed before anybody could read them. This is the promise of node batches at
//     least once. Of graph batches exactly once, a hundred are predicted again at the end.
//   - Predictions name versions that were complete when they were made; one batch names one version; streams that
//     wait have no degraded ones.
//   - Consumers, rivulet serve and the page do not end by themselves, and end with status 0 after SIGTERM. Hostile
//     records cost a consumer 64 MiB of resident memory at most.
//   - A refresh that is killed and started again forgets no node. Two publishers of one artifact succeed both.
//   - A client of rivulet serve or the page is answered in time, by a right answer or an error that says what is away,
//     and by answers again when a fault is over.
//
// The oracle checks the rest, to the bit, with the artifact that a prediction names: predictions of arrivals that are
// attached to earlier arrivals, and degraded ones, which must come while Redis is away or just after. A time-out of a
// busy machine is told apart by the consumer's log and counted: see its documentation.
//
// If edges come as records of their own, package edges says from the log which edges each arrival has, by the rule of
// docs/edges.md. A complete arrival without arrivals as neighbours must be predicted as `rivulet predict` says of the
// whole arrival; the oracle judges the rest with the edges that came in time. An arrival may have fewer edges only if
// a clock, an operator or a deletion may have ended its wait; such arrivals are counted. Exactly once, each edge that
// no arrival took has one dead letter, and no other edge has one.
//
// The same log says which revisions each arrival has, and with which edges. None is lost, none comes before the one
// with a lower number, none is doubled exactly once, and each has the bits of its edges. Near a cut their number is
// not known, but the last one has all edges. A row that is solved anew without a prediction is looked for in Redis: it
// must be that of the arrival's edges by the log. Each edge of the table is on the topic of arrivals once under each
// of its ends; the ledger sees the same of the table of nodes.
//
// An id that is forgotten has a tombstone (exactly once, a single one) and no prediction behind it. An arrival behind
// the record that asks to forget the id, in its partition, does not find the id. When that record is committed, no key
// and no value of either Redis has the id. At least once, a consumer that comes back from a stop may publish
// predictions behind tombstones, as docs/forget.md says: as many as are in flight.
//
// # Moments of a delivery
//
// A trap in the proxies holds back a request and kills the consumer that sent it: a batch's predictions (the kill is
// between the note of its neighbours and publishing), the broker's acknowledgement of them (between publishing and the
// rows of arrivals), or the commit (between the rows and the commit). With -repeats N the run goes on until so many
// repetitions of each kind were compared, in streams at least once that grow.
//
// The longest stall is the longest that an arrival of the window waited, from the time at which it was given to
// Kafka's client to the time at which its answer was read. An outage of the brokers is part of it.
package main
