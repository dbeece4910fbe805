// Package commit decides when the batches of one generation are published, and when their offsets are committed. A
// [Log] is a value: it has no goroutine, sends nothing and reads no clock, so that tests drive it through every order
// of events. The consumer's committer feeds it and does what it answers.
//
// A batch takes a number, which is its place in the order. It is computed beside others, and then
//
//	Take ─▶ Ready ─▶ Admit ─▶ Finish ─▶ Request{Commit} ─▶ Done
//	                   │ published, its rows written
//	                   └ all batches before it are finished
//
// Whatever the order in which batches become ready, they are published in the order of their numbers, one after the
// other; and of the finished ones the longest beginning is committed: no offset is committed while a batch before it is
// not finished.
//
// At least once, the next batch is published while a commit is under way, and that commit's successor takes all that
// have finished meanwhile.
//
// In transactions a batch is published into the open one, or opens the next. A transaction holds whole batches: the log
// closes its door, waits for the batch that is being published inside, and ends it; the next batch is admitted when
// that is done. With an interval of 0 the door closes as soon as no batch is ready to come in, so that none waits for
// one that is still computed; with an interval, when that is over.
//
// A batch that fails has all batches behind it handed back: their offsets lie beyond its own. Those before it are
// committed, unless they are in one transaction with it, which is aborted. After a commit that failed all are handed
// back.
package commit
