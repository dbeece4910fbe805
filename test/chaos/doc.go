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
// are compressed by another codec. Each has topics and a group of its own; they share the brokers, Redis and the
// artifacts. A sender writes arrivals at a steady rate, past the proxies; a reader, which sees committed records
// only, reads arrivals, predictions and dead letters. Rows of arrivals live for a shorter time than an arrival takes
// to come again, so that neighbours come and go all the time.
//
//	main.go              flags, and the two commands
//	world.go             binaries, artifacts, services
//	arrivals.go          the arrivals that are sent, and what an artifact says of them
//	stream.go            one stream
//	load.go              its sender
//	aborted.go           arrivals in transactions that are aborted
//	reader.go            its readers
//	member.go            its consumers, which may be killed
//	faults.go            the list of faults, and those of consumers
//	faults_kafka.go      faults of brokers
//	faults_topics.go     of topics
//	faults_redis.go      of Redis
//	faults_artifacts.go  of versions: publish, swap, prune
//	refresh.go           of refreshes
//	upgrade.go           programs of another commit beside the new ones
//	schedule.go          in which order faults come, window by window
//	hostile.go           records that are hard to take
//	poison.go            records that nobody can predict
//	traps.go             proxies that see a moment of a delivery, and kill the consumer
//	windows.go           the faults that do that
//	groups.go            graph batches, predicted again
//	table.go             the rows of the table that is printed
//	soak.go              the steady rate
//	ledger/              what happened to each arrival, and which promise that breaks
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
// # What is checked
//
//   - Each arrival is answered, by a prediction or, if it is poisoned, by a dead letter with the right reason: the
//     rest is lost. Records that were deleted before they were answered, and those of a topic that was deleted, do
//     not count. Tombstones, and arrivals in transactions that were aborted, are not answered.
//   - Dead letters have the value and the headers of their records, unless they say that parts were left out.
//   - In exactly_once it is answered once. In at_least_once the arrivals of a window that are answered more than once
//     are no more than were in flight: consumers × lanes × batch.size, for each blow of the fault and each further
//     generation of the group.
//   - The first answers to the arrivals of one key and partition come in their order.
//   - A prediction that is not marked as degraded, and that no arrival was a neighbour for, equals, bit for bit,
//     logits included, the output of `rivulet predict` for that arrival with that artifact: so rows and S belonged to
//     one version.
//   - Whatever an arrival was attached to: what is said of one record by one version is the same, bit for bit,
//     however often it is said, also by a consumer that was killed before anybody could read it. This is the promise
//     of node batches at least once. Of graph batches exactly once, a hundred are predicted again at the end.
//   - Predictions name versions that were complete when they were made; one batch names one version; streams that
//     wait have no degraded ones.
//   - Consumers do not end by themselves, and end with status 0 after SIGTERM. Hostile records cost a consumer 64 MiB
//     of resident memory at most.
//   - A refresh that is killed and started again forgets no node.
//
// # Moments of a delivery
//
// A trap in the proxies kills a consumer at a moment: when it has sent a batch's predictions, which are held back
// (between the note of what they are attached to and publishing), when the broker has acknowledged them, which is
// held back (between publishing and the rows of arrivals), and when it commits, which is held back (between the rows
// and the commit). With -repeats N the run goes on until so many repetitions of each kind were compared, in streams
// at least once that grow.
//
// The longest stall is the longest that an arrival of the window waited, from the time at which it was given to
// Kafka's client to the time at which its answer was read. An outage of the brokers is part of it.
package main
