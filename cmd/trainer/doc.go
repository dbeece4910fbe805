// Command trainer makes artifacts from data sets and publishes them to the Redis that consumers follow. A command is a
// file, which has its flags, its checks before the work begins, and its output:
//
//	train.go      train: data -> artifact; engine.go (engine_unix.go, engine_other.go) and spark.go: where T lies; clean
//	eval.go       eval: methods and models measured; eval_engine.go: an artifact measured by stages;
//	              prequential.go: a stream in its order
//	report.go     report: a page with plots; report_sweeps.go: the runs that it makes for them
//	grow.go       grow: what rows of M for arrivals are worth
//	import.go     import: a model of PyTorch Geometric becomes an artifact, or is added to one
//	refresh.go    refresh: arrivals and labels are merged, and the next artifact is made
//	data.go       data init and data check; nodetables.go: the tables of types of nodes that init finds
//	schema.go     flags and output of named features
//	flags.go      flags that commands share; reading.go: a data set read, with progress
//	main.go       the list of commands; those that act on versions in Redis are package versions
package main
