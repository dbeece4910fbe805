package window

import (
	"container/heap"
	"slices"
	"strconv"
	"strings"

	"rivulet/event"
	"rivulet/kafka"
)

// With [Options.Update] an arrival is kept after it has left. An edge that comes then is late: it begins a revision,
// which settles and leaves with all edges of the arrival, those among them that came in the meantime. With a settle
// time of 10 s:
//
//	offset   40       41       52      53      90
//	time     0 s      1 s      60 s    65 s    70 s
//	         arrival  edge     edge    edge    record
//	         a        of a     of a    of a
//
// The arrival leaves with the edge at 41. The edge at 52 begins revision 2. It settles with the record at 90, and
// leaves with the edges at 41, 52 and 53. Its place in the order of the output is behind the record at 90: it has left
// if and only if all before Next = 91 has. So it needs no state but the log, and the numbers of revisions are the same
// whoever reads the log.
//
// An arrival is released by age, when the records since have more than Bytes, when its id arrives again, and when a
// record asks to forget its id. In the last two cases a revision that settles is given up: the new arrival's
// prediction replaces it, or nothing of the id may be predicted any more.

// Update is the setting attach.update: what happens to an arrival that was predicted before one of its edges came.
type Update string

// Updates. Empty is off.
const (
	UpdateOff     Update = "off"     // nothing
	UpdateRow     Update = "row"     // its row of M is solved anew
	UpdatePredict Update = "predict" // it is predicted again, too
)

// on reports whether arrivals are kept.
func (u Update) on() bool { return u == UpdateRow || u == UpdatePredict }

// Reasons for which arrivals are kept no longer, as counted in [Stats].
const (
	aged = iota
	crowded
	replaced
	forgotten
	reasons
)

// ReasonNames are the reasons in words.
var ReasonNames = [reasons]string{"aged", "crowded", "superseded", "forgotten"}

// keeping is the part of an arrival's entry that is about revisions.
type keeping struct {
	kept     bool
	taken    bool      // it has left the window
	own      int       // edges that its record brings
	revised  int       // revisions that have settled
	queued   int       // those of them that have not left the window
	late     int64     // offset of the last edge that came late
	settling *revision // nil: none settles
	last     *revision // that has settled; nil: none has
}

// revision is an arrival that leaves again.
type revision struct {
	timer
	first  int64         // offset of the first edge that came late
	end    int64         // offset of the record with which it has settled
	number int           // 2 for the first one
	record *kafka.Record // the arrival's; nil: the revision was given up
	edges  []event.Edge
}

// keep begins to keep an arrival whose record brings so many edges.
func (w *Window) keep(e *entry, own int) {
	if w.opts.Update.on() {
		e.kept, e.own = true, own
		w.kept, w.keptNow = append(w.kept, e), w.keptNow+1
	}
}

// fire does what a timer says when a record at an offset ends its time.
func (w *Window) fire(t *timer, offset int64) {
	switch {
	case t.revision != nil:
		w.settle(t.revision, offset, offset < w.start.Next)
	case t.entry.ended == never:
		w.end(t.entry, offset, Late)
	default:
		w.release(t.entry, offset, aged)
	}
}

// revise takes an edge that came late into the revision of an arrival that is kept.
func (w *Window) revise(a, edge *entry) {
	a.late, edge.joined = edge.offset, true
	if edge.offset >= w.start.Edges {
		w.stats.Late++
	}
	if a.settling == nil {
		r := &revision{first: edge.offset, timer: timer{place: none, entry: a,
			deadline: edge.deadline + (w.opts.Settle - w.opts.Wait).Milliseconds()}}
		if a.last != nil { // an edge may have an old timestamp
			r.deadline = max(r.deadline, a.last.deadline+w.opts.Settle.Milliseconds())
		}
		r.revision, a.settling = r, r
		w.settling++
		heap.Push(&w.timers, &r.timer)
	}
	if w.opts.Settle == 0 {
		w.settle(a.settling, edge.offset, edge.offset < w.start.Next)
	}
}

// settle ends a revision's list of edges with a record at an offset. The revision leaves the window unless it has left
// before a crash. An arrival with more edges than one may have is released instead.
func (w *Window) settle(r *revision, end int64, before bool) {
	a := w.unsettle(r)
	r.end, r.edges = end, w.gather(a, end)
	if most := w.opts.Limits.Edges; most > 0 && a.own+len(r.edges) > most {
		w.release(a, end, crowded)
		return
	}
	a.revised++
	r.number, a.last = a.revised+1, r
	if before {
		r.edges = nil
		return
	}
	r.record = a.record
	a.queued++
	w.revisions = append(w.revisions, r)
}

// unsettle ends the settling of a revision, and returns its arrival.
func (w *Window) unsettle(r *revision) *entry {
	if r.place != none {
		heap.Remove(&w.timers, r.place)
	}
	w.settling--
	r.entry.settling = nil
	return r.entry
}

// release ends the keeping of an arrival with a record at an offset.
func (w *Window) release(a *entry, offset int64, reason int) {
	if !a.kept {
		return
	}
	a.kept = false
	w.keptNow--
	if offset >= w.start.Next {
		w.stats.Released[reason]++
	}
	if a.ended != never && a.place != none {
		heap.Remove(&w.timers, a.place)
	}
	switch given := reason == replaced || reason == forgotten; {
	case a.settling == nil:
	case given:
		w.unsettle(a.settling)
	default:
		w.settle(a.settling, offset, offset < w.start.Next)
	}
	if a.taken {
		a.record = nil
	}
	if a.of.kept == a {
		a.of.kept = nil
		w.tidy(a.of)
	}
}

// void gives up the revision of an id that the record at an offset has let settle, as it would leave behind that
// record, which is a new arrival of the id or asks to forget it.
func (w *Window) void(id string, offset int64) {
	for _, r := range slices.Backward(w.revisions) {
		if r.end != offset {
			return
		}
		if r.entry.of.id == id {
			r.record = nil
		}
	}
}

// supersede ends the waiting and the keeping of a node's arrivals. open is the one that waits; nil: none does.
func (w *Window) supersede(n *node, open *entry, offset int64, reason int) {
	if open != nil {
		w.leave(open, offset-1, Superseded)
	}
	if n.kept != nil {
		w.release(n.kept, offset, reason)
	}
}

// forget ends all that waits or is kept under an id. Edges that came before are no later arrival's.
func (w *Window) forget(id string, offset int64) {
	w.void(id, offset)
	n := w.nodes[id]
	if n == nil {
		return
	}
	open := n.open
	n.open, n.alone = nil, nil
	for _, e := range slices.Clone(n.edges) {
		if e.ended == never {
			e.joined = true // it is no dead letter
			heap.Remove(&w.timers, e.place)
			w.end(e, offset, Superseded)
		}
	}
	w.supersede(n, open, offset, forgotten)
}

// settled returns the revision that may leave next, nil if arrivals leave before it or there is none.
func (w *Window) settled() *revision {
	if len(w.revisions) == 0 || len(w.arrivals) > 0 && w.arrivals[0].offset <= w.revisions[0].end {
		return nil
	}
	return w.revisions[0]
}

// takeRevision moves the first revision to an output.
func (w *Window) takeRevision(r *revision, out *Output) {
	w.revisions[0], w.revisions = nil, w.revisions[1:]
	if r.entry.queued--; r.record == nil {
		return
	}
	record := *r.record
	record.Position.Offset = r.first
	out.Records = append(out.Records, record)
	out.Joined[record.Position] = Joined{Edges: r.edges, Revision: r.number, Source: r.record.Position, End: r.end + 1}
	w.stats.Revisions++
	r.record, r.edges = nil, nil
}

// firstKept returns the first arrival that is kept, has revisions that have not left, or had an edge that a new window
// would ask about; nil: there is none.
func (w *Window) firstKept() *entry {
	told, k := w.next, 0
	if len(w.edges) > 0 {
		told = w.edges[0].offset
	}
	for ; k < len(w.kept); k++ {
		if e := w.kept[k]; e.kept || e.queued > 0 || e.late >= told {
			break
		}
	}
	clear(w.kept[:k])
	if w.kept, w.uncrowded = w.kept[k:], max(0, w.uncrowded-k); len(w.kept) == 0 {
		return nil
	}
	return w.kept[0]
}

// releaseCrowded releases the arrivals since which more was read than may be held.
func (w *Window) releaseCrowded(offset int64) {
	for ; w.uncrowded < len(w.kept); w.uncrowded++ {
		e := w.kept[w.uncrowded]
		if e.kept && w.read-e.begin <= w.opts.Bytes {
			break
		}
		w.release(e, offset, crowded)
	}
}

// That a partition was idle is told by a clock and not by the log. So while arrivals are kept the offsets at which it
// was are committed, too: a window that reads the same records again ends all waits there ([Progress].Idle).

// mostIdle bounds these offsets, as brokers take some 4,000 bytes beside a committed offset. Beyond it the arrivals
// before the oldest are released.
const mostIdle = 400

// noteIdle keeps the offset at which the partition was idle.
func (w *Window) noteIdle(settle bool) {
	if w.firstKept() == nil {
		return
	}
	mark := 2 * w.next
	if settle {
		mark++
	}
	w.idle = append(w.idle, mark)
	if past := len(w.idle) - mostIdle; past > 0 {
		for _, e := range w.kept {
			if e.offset < w.idle[past-1]/2 {
				w.release(e, w.next-1, crowded)
			}
		}
	}
}

// idleAgain does again what the window before did where it has found the partition idle, up to an offset.
func (w *Window) idleAgain(next int64) {
	for len(w.replay) > 0 && w.replay[0]/2 <= next {
		mark := w.replay[0]
		w.next, w.replay = max(w.next, mark/2), w.replay[1:]
		w.flush(mark%2 == 1, true)
	}
}

// forgetIdle drops the offsets beyond another one that the window has not reached.
func (w *Window) forgetIdle(beyond int64) {
	w.replay = slices.DeleteFunc(w.replay, func(mark int64) bool { return mark/2 > beyond })
}

// idleSince returns the offsets since another one as text, and drops those before.
func (w *Window) idleSince(from int64) string {
	for len(w.idle) > 0 && w.idle[0]/2 <= from {
		w.idle = w.idle[1:]
	}
	var text []string
	last := int64(0)
	for _, mark := range append(slices.Clip(w.idle), w.replay...) {
		text = append(text, strconv.FormatInt(mark-last, 36))
		last = mark
	}
	return strings.Join(text, ".") // 40, 41 and 43: "14.1.2"
}

// idleMarks reads the text of idleSince. What cannot be read ends the list.
func idleMarks(text string) (marks []int64) {
	last := int64(0)
	for word := range strings.SplitSeq(text, ".") {
		gap, err := strconv.ParseInt(word, 36, 64)
		if err != nil || gap < 0 {
			break
		}
		last += gap
		marks = append(marks, last)
	}
	return marks
}
