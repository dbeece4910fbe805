// Package refresh makes the next artifact of a graph that grows: one round reads the arrivals and labels that have
// come, merges them into T, trains anew with the options of the artifact that serves, compares the two on the
// validation nodes, and publishes. The trainer's refresh command and the demo run it.
//
//	round, err := r.Make(ctx, "out/next")           // a written artifact that is no worse; or nothing new
//	err = r.Publish(ctx, round, "out/next-data")    // the data set, Redis, and last the group's offsets
//
// Between the two nothing has changed for others: a round that is not published leaves only its artifact behind, and
// the next one reads the same arrivals.
//
//	refresh.go  the round             serving.go  the version that serves now
//	source.go   arrivals and labels   report.go   the report of a round
package refresh
