// Package mapping gives the rows of M (N×N') by the ids of T's nodes: what an arrival's edges become on the synthetic
// graph, r = aM.
//
// A [Lookup] answers a whole batch in one call. There are four, and one stands before another:
//
//	Redis     the rows of one published version, by id
//	Guard     spares a Redis that is down, and may answer in its place
//	Cached    keeps rows of another lookup in memory, up to a number of bytes
//	Memory    the rows of an artifact that was read from its directory
//
// A lookup belongs to one version of M, whose rows never change: that is why rows may be kept without an expiry, and why
// a switch of versions makes new lookups. All of them give the same bits for the same artifact.
//
// A node of T whose row is empty is known; an id outside T is not. The first counts in an arrival's degree, the second
// does not (infer.Batch), so both the encoding and the lookups keep them apart.
//
// # While Redis is down
//
// A request is repeated with growing pauses ([RedisOptions]), within a limit of its own ([Redis.Within]). Where lookups
// fail one after another the [Guard] leaves Redis alone for a while. What then becomes of a batch is a choice: its lookup
// fails, and the caller waits and tries again, or it is answered from memory alone. A neighbour whose row is in memory is
// then what it always is: known, also where the row is empty, or not in T. Any other is Unread: infer.Attach treats it as
// an id that is not in T, so it is neither in r = aM nor in D_i, which is 1 + the neighbours known from memory + the
// degree in ã. That is the prediction of an arrival that does not have these edges.
//
// # Arrivals
//
// With growth on each arrival gets a row of M of its own (infer.Grower), and [ArrivalRows] keeps these rows beside those of T:
// in Redis, as other consumers attach to them, for a time, and no more than a number. They are no [Lookup]: T is asked first, and
// what is found there counts. The layout is at [ArrivalTable].
//
// # A row as bytes
//
// A row is stored as the number of its entries, then the gaps between their columns, then their values:
//
//	count   uvarint
//	gap     count × uvarint   column − (previous column + 1); the first one is the column itself
//	value   count × float32   IEEE 754, little-endian, bit for bit as in the artifact
//
// uvarint is that of encoding/binary (seven bits a byte, low bits first), always in its shortest form, so that a row has
// one encoding. Columns ascend by construction. The empty row is the one byte 0, never nothing. With N' below 16,384 a
// row of four entries takes 21 to 25 bytes:
//
//	02 03 00 0000003f 00000040    entries (3, 0.5) and (4, 2)
//
// [DecodeRow] refuses what is cut, followed by more bytes, not in the shortest form, at a column of N' or above, or with
// a value that is negative, NaN or infinite.
package mapping
