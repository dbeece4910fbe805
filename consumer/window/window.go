package window

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"time"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/kafka"
)

// Options of a window.
type Options struct {
	// Wait is the time that an arrival waits for edges, and an edge for its arrival, in the time that the records'
	// timestamps tell.
	Wait time.Duration
	// Ahead is the most that a record's timestamp may lie beyond the newest one before it plus Wait. A record further
	// ahead waits as if it were stamped with that newest one, and ends no waits; 0 means 5 s.
	Ahead time.Duration
	// Bytes bounds the memory of the records between one that waits and the last one that was read: their keys, values and
	// headers, what was read of them, and overhead for each; 0 means 64 MiB.
	Bytes int
	// Limits bound a record. An edge beyond them is a dead letter; an arrival is given one edge more than it may have, and
	// no others.
	Limits event.Limits
	// Forms reads records. Their ids may be parts of their memory, which a window keeps while they wait.
	Forms *read.Reader
	// DropUnmatched has edges without an arrival counted only; otherwise they are dead letters.
	DropUnmatched bool
}

func (o Options) complete() Options {
	o.Bytes, o.Ahead = cmp.Or(o.Bytes, 64<<20), cmp.Or(o.Ahead, 5*time.Second)
	return o
}

// overhead is about what a record takes in a window beside its bytes.
const overhead = 512

// Progress is the state with which a window continues where another one stopped (see the package comment).
type Progress struct {
	From, Next, Edges int64
	// Time is the time that the stream told before From, as text; empty: it is not known.
	Time string
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
	// Arrivals is the number of arrivals that wait for edges now, and Edges how many edges wait for arrivals. Bytes is
	// the size of all records since the oldest one that waits.
	Arrivals, Edges, Bytes int
	// Left counts the arrivals by outcome.
	Left [outcomes]int
	// Joined counts edges that an arrival has taken, Unmatched those that none has.
	Joined, Unmatched int
	// Ahead counts records whose timestamps were too far ahead of those before them.
	Ahead int
	// Held is for how long the first arrival in line has been the first one, Overdue how much of that is more than a
	// stream whose timestamps move with the clock takes, and First that arrival's position. Only a [Reader] knows them.
	Held, Overdue time.Duration
	First         kafka.Position
}

// Window holds the records of one partition that wait.
type Window struct {
	opts  Options
	start Progress // of the window before
	time  timeline // that the records so far tell

	nodes map[string]*node // by the id that arrivals and edges have

	entries  []*entry  // of all records from From on
	first    int       // place of the first entry that step one has not passed
	waiting  deadlines // entries that wait
	oldest   int       // place of the first entry that may wait
	arrivals []*entry  // that have not left
	edges    []*entry  // whose fate is not told

	next    int64 // offset behind the last record
	added   int   // records since the last output
	read    int   // bytes of all records
	taken   int64 // Next of the last output
	flushed bool  // all waits have ended since
	spare   *read.Message
	stats   Stats
}

// entry is a record.
type entry struct {
	offset   int64
	begin    int   // bytes that were read before it
	stamp    int64 // the record's timestamp, in milliseconds
	deadline int64 // timestamp that ends its wait
	place    int   // in Window.waiting
	ended    int64 // offset of the record that has ended its wait; never while it waits
	before   timeline
	of       *node // nil: it waits for nothing
	record   *kafka.Record
	message  *read.Message // what was read of the record; nil of one that is damaged or too large

	isEdge bool
	edge   event.Edge
	fault  *event.FieldError // of an edge that cannot be read
	joined bool              // an arrival has taken the edge

	target int   // of an arrival: the number of the node's edges at which it is complete
	left   int64 // of an arrival: offset of the record with which its edges end; never while it waits
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
}

// New returns a window that goes on where another one has stopped; the zero Progress has no other.
func New(o Options, from Progress) *Window {
	return &Window{opts: o.complete(), start: from, time: parseTimeline(from.Time), nodes: make(map[string]*node),
		taken: -1}
}

// Advance says that there is nothing more before an offset: the log has holes.
func (w *Window) Advance(next int64) { w.next = max(w.next, next) }

// Add reads a record. It keeps the record's memory until the record has left.
func (w *Window) Add(r *kafka.Record) {
	bytes := len(r.Key) + len(r.Value)
	e := &entry{offset: r.Position.Offset, begin: w.read, stamp: r.Time.UnixMilli(), before: w.time, ended: never,
		left: never, record: r}
	w.read += bytes + headerBytes(r) + overhead
	if r.Damage == nil && w.opts.Limits.CheckRecord(bytes) == nil {
		if e.message = w.spare; e.message == nil {
			e.message = read.NewMessage()
		}
		w.opts.Forms.Read(read.Record{Key: r.Key, Value: r.Value, Headers: r.Headers}, e.message)
		w.spare = nil
		w.read += e.message.Size()
	}
	w.added++
	w.pace(e)
	w.next = max(w.next, e.offset+1)
	w.entries = append(w.entries, e)
	switch m := e.message; {
	case m == nil:
		w.pass(e)
	case m.Kind == read.KindEdge:
		w.addEdge(e)
	case m.Fault != nil || m.Kind == read.KindSkip:
		w.pass(e) // a dead letter, or passed over
	case m.Kind == read.KindForget:
		w.forget(m.ID, e.offset)
		w.pass(e)
	default:
		w.addArrival(e)
	}
}

// pace moves the stream's time with a record, and ends the waits that are over by then.
func (w *Window) pace(e *entry) {
	from, ends, turned := w.time.take(e.stamp, w.opts.reach())
	e.deadline = from + w.opts.Wait.Milliseconds()
	if e.stamp > 0 && from != e.stamp && e.offset >= max(w.start.Next, w.start.Edges) {
		w.stats.Ahead++
	}
	if turned {
		for _, other := range w.waiting {
			other.deadline = w.time.time(other.stamp, w.opts.reach()) + w.opts.Wait.Milliseconds()
		}
		heap.Init(&w.waiting)
	}
	if !ends {
		from = math.MinInt64
	}
	w.endBefore(from, e.offset)
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
		e.record, e.message = nil, nil
	}
}

func (w *Window) addEdge(e *entry) {
	e.isEdge, e.edge, e.fault = true, e.message.Edge, e.message.Fault
	if w.spare, e.message = e.message, nil; e.fault == nil {
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
	heap.Push(&w.waiting, e)
	if n.open == nil {
		n.alone = append(n.alone, e)
		return
	}
	if w.join(e); n.total >= n.open.target {
		w.leave(n.open, e.offset, Complete)
	}
}

// join gives an edge to an arrival.
func (w *Window) join(e *entry) {
	if e.joined = true; e.offset >= w.start.Edges {
		w.stats.Joined++
	}
}

func (w *Window) addArrival(e *entry) {
	a := &e.message.Arrival
	n := w.node(a.ID)
	before := n.open
	e.of, n.open, e.target = n, e, math.MaxInt
	if before != nil {
		w.leave(before, e.offset-1, Superseded)
	}
	for _, edge := range n.alone {
		if edge.ended == never {
			w.join(edge)
		}
	}
	n.alone = nil
	if e.offset >= w.start.Next {
		w.arrivals, n.held = append(w.arrivals, e), append(n.held, e)
	} else {
		e.record, e.message = nil, nil
	}
	if a.EdgeCount > 0 {
		e.target = a.EdgeCount - len(a.Edges) - n.live + n.total
	}
	heap.Push(&w.waiting, e)
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
	if e.offset >= w.start.Next {
		w.stats.Left[outcome]++
	}
	w.tidy(e.of)
}

// forget ends all that waits under an id. Edges that came before are no later arrival's.
func (w *Window) forget(id string, offset int64) {
	n := w.nodes[id]
	if n == nil {
		return
	}
	open := n.open
	n.open, n.alone = nil, nil
	for _, e := range slices.Clone(n.edges) {
		if e.ended == never {
			e.joined = true // it is no dead letter
			heap.Remove(&w.waiting, e.place)
			w.end(e, offset, Superseded)
		}
	}
	if open != nil {
		w.leave(open, offset-1, Superseded)
	}
}

// endBefore ends the waits whose deadline a record's timestamp has reached, then the waits that exceed the bytes
// allowed.
func (w *Window) endBefore(timestamp, offset int64) {
	for len(w.waiting) > 0 && w.waiting[0].deadline <= timestamp {
		w.end(heap.Pop(&w.waiting).(*entry), offset, Late)
	}
	for ; w.oldest < len(w.entries); w.oldest++ {
		e := w.entries[w.oldest]
		if e.ended != never {
			continue
		}
		if w.read-e.begin <= w.opts.Bytes {
			break
		}
		heap.Remove(&w.waiting, e.place)
		w.end(e, offset, Crowded)
	}
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
	k := 0
	for k < len(n.edges) && n.edges[k].ended != never && n.edges[k].ended <= first {
		if n.edges[k].joined { // else its dead letter names it
			n.edges[k].edge = event.Edge{}
		}
		k++
	}
	if n.edges = n.edges[k:]; len(n.edges) == 0 && len(n.held) == 0 && n.open == nil {
		delete(w.nodes, n.id)
	}
}

// Flush ends all waits, as the partition is idle. The output behind it may have the Next of the one before, which must
// be on its way to be committed by then.
func (w *Window) Flush() {
	w.flushed = true
	for len(w.waiting) > 0 {
		w.end(heap.Pop(&w.waiting).(*entry), w.next, Idle)
	}
	w.restart()
}

// restart forgets the time that the stream has told, while nothing waits: after a pause the next record tells it anew.
func (w *Window) restart() { w.time = timeline{} }

// waits reports whether records wait, or would be read again without being needed.
func (w *Window) waits() bool { return len(w.arrivals)+len(w.edges)+len(w.entries) > 0 }

// Stats describes the window.
func (w *Window) Stats() Stats {
	s := w.stats
	w.stats = Stats{}
	s.Arrivals, s.Edges = len(w.arrivals), len(w.edges)
	oldest := w.read
	if len(w.entries) > w.oldest {
		oldest = w.entries[w.oldest].begin
	}
	s.Bytes = w.read - oldest
	return s
}
