// Package window joins arrivals with edges that come as records of their own ([event.Edge]), by waiting for them.
//
// A [Window] reads one partition, whose order is the only order there is. An arrival leaves it
//
//   - complete: it says how many edges it has (edge_count), and so many have been read;
//   - late: a record has been read whose timestamp is the arrival's plus the wait, or more;
//   - crowded: the records since then have more bytes than the window may hold;
//   - superseded: a record with the same id has come, which waits in its place, or one that asks to forget the id;
//   - idle: the partition has nothing more to read, for as long as the wait ([Window.Flush]).
//
// An edge may come before its arrival, as it waits in the same way. An edge for which no arrival has waited is
// unmatched. An arrival takes each edge of its id that was waiting when it came, also one that an earlier arrival of
// this id has taken, and each that comes until it leaves. Arrivals leave in the order of their offsets, so one that
// waits delays those behind it. An arrival of an id that has left is a new arrival: it leaves again.
//
// # The same again after a crash
//
// No state is stored. What becomes of a record depends on records of its partition alone (but for idle), and on few of
// them: with the wait of a record ends what it can do to others. So it is enough to read some of the log again. The
// commit of a batch has three numbers:
//
//	Next   the first arrival that has not left yet: all before it are answered
//	Edges  the first edge whose fate is not told yet: all before it are joined, or dead letters
//	From   where to begin to read, so that all records from the other two on meet the same others
//
// From is found in two steps back from K, the lesser of Next and Edges. With a wait of 2 s:
//
//	offset   40      41      60      75 = K
//	        edge  arrival   edge     ...
//	         of a    a       of a
//
// The edge at 75 may be one that a waits for, if the wait of a (41) has not ended before 75. Whether a is complete by
// then depends on its edge at 40, whose wait has not ended before 41. So From is at most 40. In general, step one goes
// to the first record whose wait ends after K, step two to the first whose wait ends after that one. A new window reads
// from From on with what has happened before Next and Edges left out of its output ([Progress]), and decides the rest
// as the old one did. What was published and not committed is, under exactly_once, seen by nobody, and published again
// otherwise.
//
// The end of a wait is told by the first record that is late enough itself, not by the latest record so far. A record
// whose timestamp is far ahead of those before it ends no waits, and waits as if it had the newest time before it, so a
// wrong clock is a problem of its own records alone ([timeline]). That depends on records before From: the commit has
// a fourth field, the time that they told.
//
// Idle is told by a clock and not by the log. It ends all waits at once, and the next commit has all three numbers at
// the end of the log. An idle partition also forgets its time, so that the first record after a pause is not too far
// ahead. A crash before that commit, and an edge that comes after the idle time with a timestamp from
// before it, may give a repeat of the arrival that edge, too.
//
// A window is used by one goroutine.
package window
