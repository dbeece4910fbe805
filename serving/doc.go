// Package serving brings artifacts from a trainer to consumers through Redis, and makes each one a [Version]: an
// immutable set of S, model, tables, preprocessing, calibration and the rows of M, that answers batches.
//
//	Publisher   writes an artifact, points CURRENT at it, points it back, removes old versions
//	Watcher     follows CURRENT: loads and verifies the new version beside the old one, then swaps one pointer
//	New         makes a Version of an artifact in memory; Pinned serves it for good, without Redis
//
// The keys in Redis, and what stands in a version's marker, are package keyspace.
//
// # A version's life
//
//	(nothing) --begin--> writing --finish--> complete --retire--> (in deleting) --UNLINK--> (nothing)
//
// Each arrow but the last is one script, so a version is never in two states. A publisher writes rows, then files,
// counts both, turns the writing key into the marker, and moves CURRENT by compare-and-set. If it is killed, the same
// call goes on from the progress that the writing key holds; an artifact of the same name and other content is refused.
// Publishing a complete version again writes all of it again, should Redis have lost or damaged parts.
//
// Retiring takes the marker away first, and only if neither CURRENT nor a live heartbeat names the version. From
// then on nobody can begin to use it, and a reader that still uses it finds out: every lookup of rows also reads the
// marker, after the rows. If the marker is missing or belongs to another publication, the answer is
// [mapping.ErrVanished], never "unknown".
//
// # Rows of arrivals
//
// With growth on ([GrowthOptions]) arrivals get rows of M. These rows are solved against S of one version and stand
// beside its rows of M. A new version begins without any: arrivals that are not in its T have a row again after they
// have come again, or when a refresh has put them into T. Rows of an old version are removed with it, or expire before,
// and none stays behind that is written to a version which is gone.
//
// # Who holds what
//
// A watcher holds the version that it serves, the one that it is loading, and every earlier one that a batch still
// uses. It knows the earlier ones by weak pointers: a version is released once the garbage collector has found no
// other reference to it. So keep a Version as long as a batch lasts and not longer.
//
// Package script has every change of a version's state, each one script; package keyspace the names of keys.
package serving
