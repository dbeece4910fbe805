// Package bench measures what serving costs on one machine: the command rivulet bench. docs/results.md says how to
// repeat each figure and how large it could be on paper.
//
// It has two sections. Core takes node batches from rows of M in memory to probabilities. Stream drains a topic and
// answers a paced one with the consumer that production runs. Both work on graphs and artifacts of random numbers in
// the sizes of real graphs ([Shape]): times depend on sizes and not on values, and a generated graph and a training
// would give the same sizes for minutes of work.
//
// Sides that are compared run in turn, a slice of time each, again and again; a figure is the median of its rounds, and
// a ratio the median of the rounds' ratios, so that other work on the machine meets both sides.
//
// The tests have the rivals, on the same inputs: the model on the original graph, a passthrough that publishes
// predictions without making them, and a plain loop of another Kafka client. make benchcheck holds the ratios to them
// to bounds. Rivals in other languages are in tools/peer.
package bench
