// Package serving brings artifacts from a trainer to consumers through Redis, and makes each one a [Version]: an
// immutable set of S, model, tables, preprocessing, calibration and the rows of M, that answers batches.
//
//	Publisher   writes an artifact, points CURRENT at it, points it back, removes old versions
//	Watcher     follows CURRENT: loads and verifies the new version beside the old one, then swaps one pointer
//	New         makes a Version of an artifact in memory; Pinned serves it for good, without Redis
//
// # Keys in Redis
//
// p is the prefix, v a version's name, g its serial number: each publication draws one, which is never used again,
// also by a Redis that has lost everything in between, so that the data of two publications never have a key in
// common, even under one name.
//
//	p:v:g:rows:b     string  bucket b of the rows of M, with its pages (package mapping)
//	p:v:g:arrivals…  hash    rows of M of arrivals, which do expire (arrivals.Table)
//	p:v:g:blob:f:i   string  part i of file f of the artifact, of its serving part; 4 MiB a part
//	{p}:v:writing    hash    v is being written: id ("g:content"), generation, content, meta, progress, begun_ms
//	{p}:v:complete   hash    the marker, v is whole: id, generation, content, meta, seal, begun_ms, published_ms,
//	                         current_ms, aborted_ms, mended_ms, other_data
//	{p}:v:notes:content…  hash  attachments of arrivals in flight, which do expire (arrivals.Table)
//	{p}:versions     set     names of the versions that have one of these two keys
//	{p}:current      string  CURRENT: the version to serve
//	{p}:candidate    string  CANDIDATE: "v since", a version to try beside it, and since when in ms; "" for none
//	{p}:comparison   hash    consumer -> what it counted of CANDIDATE beside CURRENT, as JSON
//	{p}:history      hash    "ms action" -> decision about CURRENT or CANDIDATE, as JSON; last -> the last one
//	{p}:holders      zset    "v/consumer" -> when its heartbeat lapses, ms of Redis' clock
//	{p}:deleting     hash    "v/g" -> meta: data without any reference, which are being removed
//	{p}:generation   string  the last serial number that was drawn (fields and key say generation)
//
// meta is JSON: the layout of these keys (3), the numbers of rows, of buckets and of a bucket's pages, the hash
// function, and for each file its parts, size and SHA-256. seal is a checksum of all rows of M. Earlier builds wrote
// layout 1, with hashes of rows, and layout 2, with pages without seals: such versions are listed and removed, not
// served. content is a SHA-256 over the files, the manifest among them, which has M's. The braces of the control keys
// are a hash tag: on a Redis cluster they share one slot, so that scripts over them are atomic, while rows and files
// spread over the nodes. Only keys of arrivals expire by themselves; a publisher, and a consumer that starts, refuse a
// Redis whose eviction policy removes keys without an expiry (maxmemory-policy allkeys-…).
//
// # A version's life
//
//	(nothing) --begin--> writing --finish--> complete --retire--> (in deleting) --UNLINK--> (nothing)
//
// Each arrow but the last is one script, so a version is never in two states. A publisher writes rows, then files,
// counts both, turns the writing key into the marker, and moves CURRENT by compare-and-set. If it is killed, the same
// call goes on from the progress that the writing key holds; an artifact of the same name and other content is refused.
// Publishing a complete version again compares all of it, and writes missing or damaged parts again.
//
// Retiring takes the marker away first, and only if neither CURRENT nor a live heartbeat names the version. From
// then on nobody can begin to use it, and a reader that still uses it finds out: every lookup of rows also reads the
// marker, after the rows. If the marker is missing or belongs to another publication, the answer is
// [mapping.ErrVanished], never "unknown".
//
// # A candidate
//
// A version may be tried before it serves: Publish makes it CANDIDATE in place of CURRENT, and watchers that are asked
// to load it beside the version that serves. Consumers report what they count ([Watcher.Report]); [Publisher.Compare]
// adds that up. [Publisher.Promote] makes the candidate CURRENT, and [Publisher.Abort] gives it up. Each move of
// CURRENT and CANDIDATE is in the history, the last 1000 after a pruning, with the figures as they were.
//
// # Rows of arrivals
//
// With growth on ([GrowthOptions]) arrivals get rows of M. These rows are solved against S of one version and stand
// beside its rows of M. A new version begins without any: arrivals that are not in its T have a row again after they
// have come again, or when a refresh has put them into T. Rows of an old version are removed with it, or expire before,
// and no row is written to a version that is gone. Notes of arrivals' attachments stand among the control keys, so that
// one script reads the marker and writes them, on a cluster too. They have no serial number: if a version was removed
// and is published again, a record that it has predicted before has its note.
//
// # Who holds what
//
// A watcher holds the version that it serves, the one that it is loading, and every earlier one that a batch still
// uses. It knows the earlier ones by weak pointers: a version is released once the garbage collector has found no
// other reference to it. So keep a Version as long as a batch lasts and not longer.
//
// # Files
//
//	keys.go, scripts.go     names of keys; every change of a version's state, each one script
//	meta.go                 the description of a publication in its marker
//	publisher.go, mend.go   Publisher: publish, activate; a complete version compared, and written again where it differs
//	gate.go                 checks before a version becomes CURRENT or a consumer takes it
//	candidate.go            CANDIDATE: set, loaded, compared, promoted, given up; the history of decisions
//	                        (package candidate has what is counted and decided, as values)
//	list.go, prune.go       versions listed; old ones removed
//	trial.go                Watcher: back to the version before if the new one makes dead letters
//	watcher.go, load.go     Watcher: follows CURRENT, loads and swaps; heartbeats.go protects used versions
//	version.go, choice.go   Version: a model, its attachment and calibration; errors about a choice
//	output.go, explain.go   representations and abstention; explanations
//	arrivals.go             rows of arrivals and notes of one version
package serving
