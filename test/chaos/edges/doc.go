// Package edges says which edges an arrival has where edges come as records of their own, by the rule of docs/edges.md
// and from the log alone. It knows nothing of the consumer's package window, which keeps what waits; the test of this
// package compares the two.
//
//	log.go        the records of a topic, and the sets of edges that an arrival may have
//	revisions.go  the revisions that an arrival has, and the edges of each
//	deal.go       how a sender sends an arrival and its edges
//
// Of an arrival at an offset a, with a timestamp t and a wait w, [Log.Sets] gives the edges of its own record, and
//
//   - the edges of its id before a whose wait had not ended: no record up to a has a timestamp of theirs plus w, or
//     more;
//   - the edges of its id behind a, up to the record with which the arrival ends: it then has edge_count edges, or a
//     record has a timestamp of t+w or more (an edge in that record does not count), its id arrives again, or a record
//     asks to forget the id.
//
// That is the first set. Three things end waits that no record's timestamp ends, and each gives further sets: the
// partition had nothing to read for w, which a clock tells; a consumer began to read there, as offsets were reset; or
// records were deleted that nobody had read. Such a place is a cut. A partition may have been idle before a record only
// if this was read w after the timestamp of the record before it. Where there is no cut there is one set, and a
// prediction with other edges is wrong.
//
// With attach.update an edge of the id that comes later begins a revision ([Log.Revisions]), until a record has a
// timestamp of t plus attach.update_age or more, the id arrives again, or it is to be forgotten. A cut may let a
// revision settle earlier, so that near one their number is not known, and neither are the edges of each.
package edges
