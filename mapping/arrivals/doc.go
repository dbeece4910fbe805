// Package arrivals stores the rows of M of arrivals, and notes of the arrivals that others were attached to, in Redis
// beside the rows of one version.
//
// With growth on, each arrival gets a row of M (growth.Grower), and [Rows] stores it in Redis, because other consumers
// attach to it, for a limited time and up to a limited number. Keys are listed at [Table].
//
// A process keeps rows in memory that it has read, and rows that it has written itself, if every reader finds them in
// Redis from then on ([Rows.Keep]).
//
// These rows come and go, so a record that is predicted again would find others. [Rows.Note] stores an arrival's
// attachment before it is predicted, and gives it to a consumer that predicts the record again.
//
//	arrivals.go  Rows: opened, with the options that all consumers of a version share; an arrival as bytes
//	settings.go  what all consumers of a version agree on: how long rows live, and in how many buckets they are
//	find.go      rows are looked up; all of a version are removed
//	keep.go      rows are written: by a script on one server, bucket by bucket on a cluster
//	forget.go    rows are removed whose arrivals are forgotten; readers' memory follows
//	notes.go     notes are written, recalled and forgotten
//	seal.go      checksums behind rows, notes and settings: a damaged row is Unread, a damaged note Lost
//	buckets.go   the buckets of ids, and the commands that read them
//	scripts.go   Redis' steps that must not be interrupted
package arrivals
