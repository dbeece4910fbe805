// Package bench measures the cost of Rivulet and of its rivals, in one run on one machine: the command rivulet bench.
// docs/performance.md says how to repeat each figure and how large it could be on paper.
//
//	bench.go        the sections in order, and the options of a run
//	shape.go        the shapes: how large the graphs of Pubmed, Flickr and Reddit are; models and artifacts of random
//	                numbers in these shapes
//	arrivals.go     arrivals of a shape, as batches and as records
//	original.go     T of a shape, on which the rivals run
//	time.go         sides measured in turn, and the medians of their rounds
//	kernels.go      dense products by themselves
//	core.go         rows of M to probabilities, for batches × shapes × models
//	rivals.go       the same arrivals on the original graph: Whole, its neighbourhood, T's own tables
//	rows.go         rows of M from memory, and from Redis behind a cache
//	store.go        a large M published to Redis, and lookups in it behind caches
//	form.go         a shape's arrivals in one form: JSON or Protobuf
//	services.go     a broker and a Redis in a process of their own, or given ones
//	topics.go       topics, made for one run and deleted after it
//	stream.go       the section stream: streams drained in turn, then paced ones; the consumer as production runs it
//	passthrough.go  the same fetch and the same bytes published, and no prediction in between
//	loop.go         a plain loop of another Kafka client, as a yardstick for the passthrough
//	meter.go        the measures of a stream: nodes/s, latencies, bytes, CPU seconds
//	report.go       the table, the JSON object, the Go benchmark format
//	save.go         a shape's artifact and arrivals, for tools/peer
//	check.go        bounds of ratios, for make benchcheck
//	machine.go      processor, cores, Go, commit
//	process_unix.go, process_other.go  the CPU seconds of this process, on Unix and elsewhere
//
// Numbers are random, because times do not depend on them. Sizes count, and they are the sizes of the data sets that
// the shapes are named after. The generator of package dataset and a training would give the same sizes for minutes of
// work.
//
// Sides that are compared run in turn, a slice of time each, again and again; a figure is the median of its rounds, and
// a ratio the median of the rounds' ratios, so that other work on the machine meets both sides.
package bench
