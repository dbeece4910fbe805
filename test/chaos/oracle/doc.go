// Package oracle says which predictions are right when neighbours come and go, and when some cannot be read.
//
// Package ledger compares predictions of nodes of T alone with the output of `rivulet predict`. Two kinds of
// predictions depend on more than that. With growth (attach.arrivals) a prediction depends on the rows of M of earlier
// arrivals, which in turn depend on arrivals before them. A degraded prediction lacks the neighbours whose rows could
// not be read. The oracle follows the stream: it knows every row that an arrival can have had at a time, and finds the
// neighbours that give a prediction its numbers, to the bit, with the artifact that the prediction names.
//
// A prediction breaks a promise where
//
//   - no set of known neighbours of its counts gives its numbers ([Oracle.Judge]);
//   - it is not degraded and lacks a neighbour that is a node of T;
//   - it lacks an arrival whose row was there for certain: its offset was committed (its answer was visible in a
//     stream exactly once) before the record was sent, the row lives longer than until the prediction, and Redis had
//     no outage;
//   - more of a stream are degraded after an outage, and the time of its retries, than were in hand, or more in
//     time-outs than [Oracle.MostSlow];
//   - it is degraded while Redis had no outage, nor just after one. A time-out on a busy machine is an outage, too:
//     the consumer's log tells of it ([ReadOutages]).
//
// The files:
//
//	oracle.go    predictions as the reader saw them, and the judgement of all of them
//	follow.go    rows of arrivals, in the order of the stream
//	silent.go    rows that were solved anew, of which no prediction tells
//	search.go    the neighbours that explain a prediction's numbers
//	version.go   one version, read from its artifact
//	outages.go   times without Redis, by faults and by consumers' logs
package oracle
