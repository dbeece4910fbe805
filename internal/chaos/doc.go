// Command chaos shows the outcome of arrivals when something breaks: consumers, brokers, Redis, the network between
// them, records and artifacts. It runs the real programs as processes, on a real Kafka (tools/kafka/kafka.sh) and a
// real Redis (redis-server) that it starts itself, breaks them by a schedule that depends on a seed, and compares
// every answer with the arrivals. It ends with status 1 if a promise was broken.
//
//	go run ./internal/chaos -seed 1 -time 10m faults    # a table, in Markdown
//	go run ./internal/chaos -time 30m soak              # memory and goroutines at a steady rate
//
// # The streams
//
// Four streams run side by side, of two consumers each: delivery at_least_once and exactly_once, both with
// redis.outage wait and degrade. Each has topics and a group of its own; they share the broker, Redis and the
// artifacts. A sender writes arrivals at a steady rate, past the proxies; a reader, which sees committed records
// only, reads arrivals, predictions and dead letters.
//
//	main.go     flags            world.go    binaries, artifacts, services
//	stream.go   load, readers    member.go   consumers, which may be killed
//	faults.go   the faults   schedule.go in which order, window by window  poison.go  records that nobody can predict
//	ledger.go   the checker      table.go    what is printed                   soak.go    the steady rate
//
// Networks that can be cut, the Redis server and the Kafka broker are in internal/harness.
//
// Consumer i of every stream reaches Kafka and Redis through proxies of its own, so that it can be cut off alone. For
// Kafka each of these proxies has a listener of the broker's, which tells clients to come through it.
//
// # Windows
//
// A fault has a window: it begins with all earlier arrivals answered, and lasts until all sent before the fault
// was over are answered. An error counts for the window in which the arrival was sent.
//
// # What is checked
//
//   - Each arrival is answered, by a prediction or, if it is poisoned, by a dead letter with the right reason: the rest is
//     lost.
//   - In exactly_once it is answered once. In at_least_once the arrivals of a window that are answered more than once are
//     no more than were in flight: consumers × lanes × batch.size, for each blow of the fault and each further generation of
//     the group.
//   - The first answers to the arrivals of one key come in their order.
//   - A prediction that is not marked as degraded equals, bit for bit, logits included, the output of `rivulet predict` for that
//     arrival with that artifact: so rows and S belonged to one version, and repetitions agree.
//   - Predictions name versions that were complete when they were made; one batch names one version; streams that
//     wait have no degraded ones.
//   - Consumers do not end by themselves, and end with status 0 after SIGTERM.
//
// The longest stall is the longest that an arrival of the window waited, from the time at which it was given to Kafka's
// client to the time at which its answer was read. An outage of the broker is part of it.
package main
