package window

import (
	"cmp"
	"container/heap"
	"errors"
	"math"
	"strings"
	"time"

	"rivulet/consumer/limits"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/kafka"
)

// Options of a window.
type Options struct {
	// Wait is how long an arrival waits for edges, and an edge for its arrival, in the time that the records' timestamps
	// tell.
	Wait time.Duration
	// Bytes bounds the records between one that waits and the last one that was read, each with overhead more than its
	// key, value and headers; 0 means 64 MiB.
	Bytes int
	// Limits bound a record. An edge beyond them is a dead letter; an arrival is given one edge more than it may have, and
	// no others.
	Limits limits.Limits
	// Forms reads records.
	Forms *form.Reader
	// DropUnmatched has edges without an arrival counted only; otherwise they are dead letters.
	DropUnmatched bool
	// Update, if it is not off, has arrivals kept after they have left: an arrival for which an edge comes then leaves
	// again, as a revision (revision.go). Age is how long after its timestamp an arrival is kept, at least Wait, and
	// Settle how long after the first such edge it leaves again, with all that have come by then; both in the time of the
	// records' timestamps.
	Update      Update
	Age, Settle time.Duration
}

// overhead is about what a record takes in a window beside its bytes.
const overhead = 512

// Progress is the state with which a window continues where another one stopped (see the package comment).
type Progress struct {
	From, Next, Edges int64
	Idle              string // where the partition was idle since From, as idleSince writes it
}

// Outcomes of arrivals, as counted in [Stats].
const (
	Complete = iota
	Late
	Crowded
	Superseded
	Idle
	outcomes
)

// OutcomeNames are the outcomes in words.
var OutcomeNames = [outcomes]string{"complete", "late", "crowded", "superseded", "idle"}

// Stats describe a window. Counts are since the last call of [Window.Stats].
type Stats struct {
	// Arrivals is how many arrivals wait for edges now, and Edges how many edges wait for arrivals. Bytes is the size of
	// all records since the oldest one that waits.
	Arrivals, Edges, Bytes int
	// Left counts the arrivals by outcome.
	Left [outcomes]int
	// Joined counts edges that an arrival has taken, Unmatched those that none has.
	Joined, Unmatched int
	// Kept is the number of arrivals that are kept for later edges now. Released counts the arrivals that are not kept
	// any more, by reason. Late counts the edges that came while their arrival was kept, Revisions the revisions that
	// have left.
	Kept            int
	Released        [reasons]int
	Late, Revisions int
}

// Window holds the records of one partition that wait.
type Window struct {
	opts  Options
	start Progress // of the window before

	nodes map[string]*node // by the id that arrivals and edges have

	entries   []*entry    // of all records from From on
	first     int         // place of the first entry that step one has not passed
	timers    timers      // of entries that wait or are kept, and of revisions that settle
	oldest    int         // place of the first entry that may wait
	arrivals  []*entry    // that have not left
	edges     []*entry    // whose fate is not told
	kept      []*entry    // arrivals from the first one on that is kept, or has a revision that has not left
	uncrowded int         // place of the first of them that may be kept
	keptNow   int         // how many of them are
	settling  int         // how many revisions settle
	revisions []*revision // that have settled and have not left, by End
	idle      []int64     // where the partition was idle, since From: twice the offset, and 1 more if revisions settled
	replay    []int64     // those of the window before that this one has not reached

	next    int64 // offset behind the last record
	added   int   // records since the last output
	read    int   // bytes of all records
	taken   int64 // Next of the last output
	flushed bool  // all waits have ended since
	arrival event.Arrival
	stats   Stats
}

// entry is a record.
type entry struct {
	timer
	offset int64
	begin  int   // bytes that were read before it
	ended  int64 // offset of the record that has ended its wait; never while it waits
	of     *node // nil: it waits for nothing
	record *kafka.Record

	isEdge bool
	edge   event.Edge
	fault  *event.FieldError // of an edge that cannot be read
	joined bool              // an arrival has taken the edge

	target int   // of an arrival: the number of the node's edges at which it is complete
	left   int64 // of an arrival: offset of the record with which its edges end; never while it waits
	keeping
}

// never is the end of a wait that has not ended.
const never = math.MaxInt64

// node has the arrivals and edges that wait under one id.
type node struct {
	id    string
	edges []*entry // that wait, or that arrivals which have not left may have
	alone []*entry // edges that no arrival has taken
	live  int      // how many of the edges wait
	total int      // edges so far
	open  *entry   // the arrival that waits
	held  []*entry // arrivals that have not left
	kept  *entry   // the last arrival that waits no longer, while it is kept
}

// New returns a window that goes on where another one has stopped; the zero Progress has no other.
func New(o Options, from Progress) *Window {
	o.Bytes = cmp.Or(o.Bytes, 64<<20)
	return &Window{opts: o, start: from, nodes: make(map[string]*node), taken: -1, replay: idleMarks(from.Idle)}
}

// Advance says that there is nothing more before an offset: the log has holes.
func (w *Window) Advance(next int64) {
	w.idleAgain(next)
	w.next = max(w.next, next)
}

// Add reads a record. It keeps the record's memory until the record has left.
func (w *Window) Add(r *kafka.Record) {
	w.idleAgain(r.Position.Offset)
	bytes := len(r.Key) + len(r.Value)
	e := &entry{offset: r.Position.Offset, begin: w.read, ended: never, left: never, record: r,
		timer: timer{deadline: r.Time.Add(w.opts.Wait).UnixMilli(), place: none}}
	e.entry = e
	w.read += bytes + headerBytes(r) + overhead
	w.added++
	w.endBefore(r.Time.UnixMilli(), e.offset)
	w.next = max(w.next, e.offset+1)
	w.entries = append(w.entries, e)
	if r.Damage != nil || w.opts.Limits.CheckRecord(bytes) != nil {
		w.pass(e)
		return
	}
	var err error
	if e.isEdge, err = w.opts.Forms.Edge(r.Headers, r.Value, &e.edge); e.isEdge {
		w.addEdge(e, err)
	} else {
		w.addArrival(e)
	}
}

func headerBytes(r *kafka.Record) (size int) {
	for i := range r.Headers {
		size += len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return size
}

// pass lets a record leave that waits for nothing.
func (w *Window) pass(e *entry) {
	e.ended, e.left = e.offset, e.offset
	if e.offset >= w.start.Next {
		w.arrivals = append(w.arrivals, e)
	} else {
		e.record = nil
	}
}

func (w *Window) addEdge(e *entry, err error) {
	if err != nil {
		e.fault = event.FaultOf(err)
	} else {
		e.fault = w.opts.Limits.CheckEdge(&e.edge)
	}
	if e.offset >= w.start.Edges {
		w.edges = append(w.edges, e)
	}
	if e.fault != nil {
		e.ended = e.offset
		return
	}
	id, _ := e.edge.Ends()
	n := w.node(id)
	e.of, n.edges = n, append(n.edges, e)
	n.live++
	n.total++
	heap.Push(&w.timers, &e.timer)
	switch {
	case n.open != nil:
		if w.join(e); n.total >= n.open.target {
			w.leave(n.open, e.offset, Complete)
		}
	case n.kept != nil:
		w.revise(n.kept, e)
	default:
		n.alone = append(n.alone, e)
	}
}

// join gives an edge to an arrival.
func (w *Window) join(e *entry) {
	if e.joined = true; e.offset >= w.start.Edges {
		w.stats.Joined++
	}
}

func (w *Window) addArrival(e *entry) {
	a := &w.arrival
	if err := w.opts.Forms.Event(e.record.Key, e.record.Headers, e.record.Value, a); err != nil {
		var forget form.Forget
		if errors.As(err, &forget) {
			w.forget(forget.ID, e.offset)
		}
		w.pass(e) // a dead letter, passed over, or asks to forget an id
		return
	}
	w.void(a.ID, e.offset)
	n := w.node(a.ID)
	before := n.open
	e.of, n.open, e.target = n, e, math.MaxInt
	w.supersede(n, before, e.offset, replaced)
	w.keep(e, len(a.Edges))
	for _, edge := range n.alone {
		if edge.ended == never {
			w.join(edge)
		}
	}
	n.alone = nil
	if e.offset >= w.start.Next {
		w.arrivals, n.held = append(w.arrivals, e), append(n.held, e)
	} else if e.taken = true; !e.kept {
		e.record = nil
	}
	if a.EdgeCount > 0 {
		e.target = a.EdgeCount - len(a.Edges) - n.live + n.total
	}
	heap.Push(&w.timers, &e.timer)
	if n.total >= e.target {
		w.leave(e, e.offset, Complete)
	}
}

func (w *Window) node(id string) *node {
	n := w.nodes[id]
	if n == nil {
		n = &node{id: strings.Clone(id)}
		w.nodes[n.id] = n
	}
	return n
}

// leave ends an arrival's list of edges with those up to an offset.
func (w *Window) leave(e *entry, last int64, outcome int) {
	if e.left = last; e.of.open == e {
		e.of.open = nil
	}
	if e.kept {
		e.of.kept = e
	}
	if e.offset >= w.start.Next {
		w.stats.Left[outcome]++
	}
	w.tidy(e.of)
}

// endBefore ends the waits whose deadline a record's timestamp has reached, then the waits that exceed the bytes
// allowed, then the time of arrivals that are kept.
func (w *Window) endBefore(timestamp, offset int64) {
	for len(w.timers) > 0 && w.timers[0].deadline <= timestamp {
		w.fire(heap.Pop(&w.timers).(*timer), offset)
	}
	for ; w.oldest < len(w.entries); w.oldest++ {
		e := w.entries[w.oldest]
		if e.ended != never {
			continue
		}
		if w.read-e.begin <= w.opts.Bytes {
			break
		}
		heap.Remove(&w.timers, e.place)
		w.end(e, offset, Crowded)
	}
	w.releaseCrowded(offset)
}

// end ends the wait of a record.
func (w *Window) end(e *entry, offset int64, outcome int) {
	e.ended = offset
	switch {
	case e.isEdge:
		e.of.live--
		w.tidy(e.of)
		return
	case e.of.open == e:
		w.leave(e, offset-1, outcome)
	}
	if e.kept {
		e.deadline += max(0, w.opts.Age-w.opts.Wait).Milliseconds()
		heap.Push(&w.timers, &e.timer)
	}
}

// tidy drops edges that no arrival can have any more.
func (w *Window) tidy(n *node) {
	for len(n.alone) > 0 && n.alone[0].ended != never {
		n.alone = n.alone[1:]
	}
	first := int64(never) // arrival that may have edges
	if len(n.held) > 0 {
		first = n.held[0].offset
	}
	for _, a := range []*entry{n.open, n.kept} {
		if a != nil && a.kept {
			first = min(first, a.offset)
		}
	}
	k := 0
	for k < len(n.edges) && n.edges[k].ended != never && n.edges[k].ended <= first {
		if n.edges[k].joined { // else its dead letter names it
			n.edges[k].edge = event.Edge{}
		}
		k++
	}
	if n.edges = n.edges[k:]; len(n.edges) == 0 && len(n.held) == 0 && n.open == nil && n.kept == nil {
		delete(w.nodes, n.id)
	}
}

// Flush ends all waits, as the partition is idle, and lets all revisions settle if it has been for long enough for
// that. The output behind it may have the Next of the one before, which must be on its way to be committed by then.
// Arrivals that are kept stay.
func (w *Window) Flush(settle bool) { w.flush(settle, false) }

// flush is Flush, now or again as the window before has done it.
func (w *Window) flush(settle, again bool) {
	w.flushed = true
	var rest timers
	for len(w.timers) > 0 {
		switch t := heap.Pop(&w.timers).(*timer); {
		case t.revision != nil && settle:
			w.settle(t.revision, w.next-1, again && w.next <= w.start.Next)
		case t.revision != nil:
			rest = append(rest, t)
		case t.entry.ended == never:
			w.end(t.entry, w.next, Idle)
		default:
			rest = append(rest, t)
		}
	}
	for _, t := range rest {
		heap.Push(&w.timers, t)
	}
	w.noteIdle(settle)
}

// waits reports whether records wait, or would be read again without being needed.
func (w *Window) waits() bool {
	return len(w.arrivals) > 0 || len(w.edges) > 0 || w.firstKept() == nil && len(w.entries) > 0
}

// Stats describes the window.
func (w *Window) Stats() Stats {
	s := w.stats
	w.stats = Stats{}
	s.Arrivals, s.Edges, s.Kept = len(w.arrivals), len(w.edges), w.keptNow
	oldest := w.read
	if len(w.entries) > w.oldest {
		oldest = w.entries[w.oldest].begin
	}
	if e := w.firstKept(); e != nil {
		oldest = min(oldest, e.begin)
	}
	s.Bytes = w.read - oldest
	return s
}
