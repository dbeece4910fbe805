// Command chaos shows what becomes of arrivals when something breaks: consumers, brokers, Redis, the network between
// them, topics, clocks, records and artifacts. It runs the real programs as processes, on a real Kafka
// (tools/kafka/kafka.sh) and a real Redis (redis-server) that it starts itself, breaks them in an order that a seed
// decides, and compares every answer with the arrivals. It ends with status 1 if a promise was broken, or if a fault
// had no effect.
//
//	go run ./test/chaos -seed 1 -time 10m faults    # a table, in Markdown
//	go run ./test/chaos -time 30m soak              # memory and goroutines at a steady rate
//
// docs/operate.md describes the streams, the faults and the table. To add a fault, write a function that breaks
// something and repairs it, and add it to faults in faults.go. It must see for itself that it had an effect: a member
// is gone from its group, another broker leads, a topic refuses a record. Only among three faults at once it need not,
// as one may prevent the other.
//
// # The parts
//
// Package world has the directory of a run with its programs, artifacts and services. Package stream is one stream: its
// topics, its load, its consumers, and readers of what was sent and answered. They fill a ledger (package ledger),
// which judges. Package record makes the records, those that nobody can predict among them.
//
// Consumer i of every stream reaches Kafka and Redis through proxies of its own, so that it can be cut off alone. For
// Kafka each broker has a listener for each of these proxies, which tells clients to come through it. A trap in a proxy
// kills a consumer at a moment of a delivery: it holds back the request that publishes, the broker's answer to it, or
// the request that commits.
//
// # Windows
//
// A fault has a window: it begins with all earlier arrivals answered, and lasts until all that were sent before the
// fault was over are answered. An error counts for the window in which the arrival was sent.
//
// # What is right
//
// The program `rivulet predict` decides the bits of a prediction, logits included, with the artifact that the
// prediction names. It can do so where no earlier arrival was a neighbour and all rows could be read. Predictions that
// have an earlier arrival as a neighbour, and those that are marked as degraded, count as answers, and their bits are
// not compared: tests of package consumer do that. A hundred graph batches exactly once are predicted again as graph
// batches.
//
// Which edges an arrival has, if they come as records of their own, depends on clocks and pauses. So such an arrival
// has an id of its own, and the ledger adds up: each edge is joined to it or has a dead letter, exactly once not both,
// and if all are joined, the bits are those of the whole arrival.
package main
