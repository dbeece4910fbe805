// Package mapping looks up the rows of M (N×N') by the ids of T's nodes. The sum of its neighbours' rows is an
// arrival's row of edges to the synthetic graph, r = aM.
//
// In this package M is always that matrix; how fields of foreign records are found is the mapping of package event.
//
// A [Lookup] answers a whole batch in one call. There are four, and they can be chained:
//
//	Redis     the rows of one published version, by id
//	Guard     sends no lookups to a Redis that is down, and may answer in its place
//	Cached    keeps rows of another lookup in memory, up to a number of bytes
//	Memory    the rows of an artifact that was read from its directory, in the heap or in a file ([FromFile])
//
// A lookup belongs to one version of M, whose rows never change: that is why rows may be kept without an expiry, and
// why a switch of versions makes new lookups. All of them give the same bits for the same artifact.
//
// A node of T whose row is empty is known; an id outside T is not. The first counts in an arrival's degree, the
// second does not (attach.Batch), so both the encoding and the lookups keep them apart.
//
// # While Redis is down
//
// A request is repeated with growing pauses ([RedisOptions]), within a limit of its own ([Redis.Within]). If lookups
// fail one after another the [Guard] asks Redis nothing for a while. A setting decides about the batch: either its
// lookup fails, and the caller waits and tries again, or it is answered from memory alone. A neighbour whose row is in
// memory then counts as always: as known, even if the row is empty, or as not in T. Other neighbours are Unread:
// attach.Attach treats them as ids that are not in T, so they are neither in r = aM nor in D_i, which is 1 + the
// neighbours known from memory + the degree in ã. This is the prediction that the arrival would get without these
// edges.
//
// # Errors
//
// Each error of Redis is one of these, and nobody else decides which:
//
//	[Unavailable]   Redis cannot be reached, does not answer in time, or cannot serve now: waited for, or degraded
//	[ErrVanished]   the version, or a bucket of its rows, is gone: the same. Of a bucket only its ids are degraded;
//	                publishing the artifact again brings it back
//	[ErrDamaged]    bytes that differ from their seal: no waiting helps, so the [Guard] answers Unread for all ids of
//	                this page, always; publishing the artifact again writes it anew
//	[Refused]       rights, login, wiring: somebody must change a setting or the ACL. At the start it ends the consumer
//	                at once; a refused login of a running one is waited for until its heartbeats have lapsed
//
// Anything else, such as an answer that this build does not know, is waited for.
//
// Rows that arrivals were given are in package [rivulet/mapping/arrivals]. They are no [Lookup]: T is asked first, and
// a row of T takes precedence.
//
// # Rows in Redis
//
// The rows of one version are in [Layout.Buckets] strings of up to some 32 KiB, the buckets, and each bucket has
// [Layout.Pages] pages of four to eight rows. The leading bits of the hash of an id (XXH64) are the number of its page:
//
//	bucket   seal (uint64) | rows (uint32) | end of each page (pages × uint32) | page | page | …
//	page     rows, each: length of the id (uvarint) | id | length of the row (uvarint) | row; then seal (uint64)
//
// Numbers are little-endian, ends count from the beginning of the bucket, a page without rows has no bytes, and the row
// is as below. A seal is the XXH64 of the rows of its page, or of the number of rows and the ends. Its seed is the
// XXH64 of the marker's id plus the number of the page, or plus the complement of the bucket's number. So a reader sees
// bytes that changed, buckets that were exchanged, and buckets of another publication. The marker has the sum of the
// XXH64 of all buckets ([GroupedRows.Seal]), which [Redis.Load] compares.
//
// A reader keeps where pages end, four bytes a page, and reads a page by GETRANGE: one command, which finds the few
// keys of buckets in the processor's cache and reads one place in main memory, where a row in a hash of its own bucket
// takes four. A bucket is written as a whole, all of them are there, and two tables never share a key; so a missing one
// was lost, and an id that is not in its page is not in T.
//
// # A row as bytes
//
// A row is stored as the number of its entries, then the gaps between their columns, then their values:
//
//	count   uvarint
//	gap     count × uvarint   column − (previous column + 1); the first one is the column itself
//	value   count × float32   IEEE 754, little-endian, bit for bit as in the artifact
//
// uvarint is the one of encoding/binary (seven bits a byte, low bits first), always in its shortest form, so that a
// row has one encoding. Columns ascend by construction. The empty row is the one byte 0, never nothing. With N'
// below 16,384 a row of four entries takes 21 to 25 bytes:
//
//	02 03 00 0000003f 00000040    entries (3, 0.5) and (4, 2)
//
// [DecodeRow] refuses bytes that are cut, followed by more bytes, or not in the shortest form, a column of N' or
// above, and a value that is negative, NaN or infinite.
package mapping
