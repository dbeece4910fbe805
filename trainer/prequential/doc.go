// Package prequential judges a data set as a stream: nodes arrive one after another, are predicted, and get their
// labels later (prequential evaluation: Dawid, "Statistical theory: the prequential approach", 1984). Random test nodes
// say how well a model answers nodes like those of its training; a stream says how it answers the nodes that come next.
//
//	result, err := prequential.Run(ctx, d, prequential.Defaults(), progress)
//
// # The stream
//
// The nodes come in the order of [dataset.Dataset.Times]; where a data set has none, in the order of a breadth-first
// walk outward from one node. The walk is a convention: communities and features shift along it, as they do in many
// streams, but it is no record of time. The first share of the nodes is the first T, an eighth of its labelled nodes
// validate. The rest is cut into chunks. An arrival has edges to nodes before it only, and it is a node batch: the
// arrivals of its micro-batch are unknown to it. A label is known [Options.Delay] chunks after its node's chunk began.
//
// # Columns
//
//	T never          the first T and its weights, as they were
//	S never          the artifact of the first T, as it was
//	S grown          the same; each arrival gets a row of M, to which later arrivals attach (attach.arrivals)
//	S each chunk     an artifact trained anew before each chunk on all nodes that came, with the labels known by then;
//	                 arrivals get rows of M in between
//	S by alarm       the same, trained anew only when [Judge] raises an alarm
//	Whole retrained  T with all nodes before the micro-batch, by the weights of S each chunk
//
// An artifact with an expert of own features has it in all columns, also in those on T, so that two columns differ in
// the graph alone. A refresh keeps N' and the schema of the features.
//
// # Alarms
//
// [Judge] replays all arrivals since a version was made, and compares. The refresh command asks the same function.
//
//	condense anew    S, with the rows of arrivals, gives the newest arrivals other classes than T with all arrivals in it
//	                 and the same weights: agreement is below a bound
//	retrain          the newest labelled arrivals are answered right less often than the validation nodes when the
//	                 version was made, by more points than a bound and than chance, and T has grown since by a share
//	outgrown         T has grown since by a larger share
//
// # Files
//
//	order.go    the order of the nodes        replay.go   a version's answers to arrivals in their order
//	version.go  an artifact that serves       alarm.go    the bounds and the alarms
//	run.go      the chunks                    result.go   figures and their table
package prequential
