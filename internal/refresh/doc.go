// Package refresh makes the next artifact of a graph that grows: one round reads the arrivals and labels that have
// come, merges them into T, trains anew with the options of the artifact that serves, compares the two on the
// validation nodes, and publishes. The trainer's refresh command runs it.
//
//	report, err := r.Next(ctx, "out/next", "data/next")
//
// [round.run] is that round on one screen: read, merge, train, compare, store, publish, commit.
//
// # Files that outlive the process
//
// A [Graph] on the disk is a data set with a file refresh.json: how far it has read the stream, and which artifact was
// trained on it. It appears with one rename, after all of it is synced, so it is complete or not there. The steps of a
// round, and the next start's action if the process dies after one of them:
//
//	read, merge, train        nothing has changed: the same arrivals are read again
//	the artifact is written   the same; [Copies.Prune] removes the artifact later
//	the graph is written      [Graph.Resume] goes on from it; its artifact is compared again and published, also
//	                          without new arrivals
//	published                 published.json is written into the graph's directory, so that a version that somebody
//	                          has rolled back is not published again
//	offsets are committed     the round is over; old copies are removed
//
// The graph's own offsets say where to read on. The group's offsets are a copy of them, so that tools can show the
// group's lag: they may be behind the graph's, never ahead, and are committed with a note that distinguishes them from
// consumers' offsets.
//
// [rivulet/trainer/merge] merges, in memory.
package refresh
