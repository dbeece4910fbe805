package window

import (
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/kafka"
)

// Output is a group of records that leave a window together.
type Output struct {
	// Records are the arrivals, and records that wait for nothing. Messages has what was read of each, nil where nothing
	// was; Joined has the edges that each arrival was given by records of their own, by its place.
	Records  []kafka.Record
	Messages []*read.Message
	Joined   map[kafka.Position][]event.Edge
	// DeadLetters are edges without an arrival, and records of edges that cannot be read.
	DeadLetters []event.DeadLetter
	// Unmatched are the ends of all edges without an arrival, whether they are dead letters or not.
	Unmatched [][2]string
	Progress  Progress
}

// most is the number of arrivals that an output has at most, and how many dead letters of edges if few records have
// come.
const most = 1 << 10

// Take returns the next records that leave the window, and false where none do now; the caller repeats it until then.
// Each output has a Next of its own, by which its commit is recognised.
func (w *Window) Take() (Output, bool) {
	switch {
	case len(w.arrivals) > 0 && w.arrivals[0].left == never,
		w.next <= w.taken && !w.flushed,
		w.next < max(w.start.Next, w.start.Edges): // all of it has left before
		return Output{}, false
	}
	out := Output{Joined: make(map[kafka.Position][]event.Edge)}
	for len(w.arrivals) > 0 && w.arrivals[0].left != never && len(out.Records) < most {
		w.takeArrival(&out)
	}
	limit := max(most, 2*w.added) // so that dead letters leave faster than records come
	w.added = 0
	for len(w.edges) > 0 && w.edges[0].told() && (len(out.DeadLetters) < limit || w.flushed) {
		e := w.edges[0]
		w.edges[0], w.edges = nil, w.edges[1:]
		if !e.joined && e.fault == nil {
			w.stats.Unmatched++
			out.Unmatched = append(out.Unmatched, [2]string{e.edge.Source, e.edge.Target})
		}
		if e.fault != nil || !e.joined && !w.opts.DropUnmatched {
			out.DeadLetters = append(out.DeadLetters, w.deadLetter(e))
		}
		if e.record = nil; !e.joined {
			e.edge = event.Edge{}
		}
	}
	out.Progress = w.progress()
	w.taken, w.flushed = out.Progress.Next, w.flushed && len(w.arrivals) > 0
	return out, true
}

// takeArrival moves the first arrival to an output.
func (w *Window) takeArrival(out *Output) {
	e := w.arrivals[0]
	out.Records, out.Joined[e.record.Position] = append(out.Records, *e.record), w.gather(e)
	out.Messages = append(out.Messages, e.message)
	w.arrivals[0], w.arrivals = nil, w.arrivals[1:]
	e.record, e.message = nil, nil
	if e.of != nil {
		e.of.held = e.of.held[1:]
		w.tidy(e.of)
	}
}

// told reports whether the fate of an edge is known.
func (e *entry) told() bool { return e.joined || e.ended != never }

// gather returns the edges that an arrival leaves with.
func (w *Window) gather(a *entry) []event.Edge {
	if a.of == nil {
		return nil
	}
	edges := []event.Edge{}
	for _, e := range a.of.edges {
		if e.offset > a.left || w.opts.Limits.Edges > 0 && len(edges) > w.opts.Limits.Edges {
			break
		}
		if e.ended > a.offset {
			edges = append(edges, e.edge)
		}
	}
	return edges
}

func (w *Window) deadLetter(e *entry) event.DeadLetter {
	fault := e.fault
	if fault == nil {
		id, _ := e.edge.Ends()
		fault = &event.FieldError{Reason: event.ReasonEdgeUnmatched, Detail: "no arrival of the id " + event.Cut(id) +
			" waited for it in its partition"}
	}
	return event.DeadLetter{Key: e.record.Key, Value: e.record.Value, Headers: e.record.Headers,
		Source: event.Source(e.record.Position), IngestTime: e.record.Time, Reason: fault.Reason, Detail: fault.Error()}
}

// progress returns the offsets that the package comment describes, and drops the records before From.
func (w *Window) progress() Progress {
	p := Progress{Next: w.next, Edges: w.next, Time: w.time.String()}
	if len(w.arrivals) > 0 {
		p.Next = w.arrivals[0].offset
	}
	if len(w.edges) > 0 {
		p.Edges = w.edges[0].offset
	}
	one := min(p.Next, p.Edges)
	w.first, one = w.back(w.first, one)
	k, from := w.back(0, one)
	if p.From = from; k < len(w.entries) {
		p.Time = w.entries[k].before.String()
	}
	clear(w.entries[:k])
	w.entries, w.first, w.oldest = w.entries[k:], w.first-k, max(0, w.oldest-k)
	return p
}

// back returns the first entry, from a place on, whose wait ends after an offset, and its offset; if there is none
// before the offset, that offset.
func (w *Window) back(k int, offset int64) (int, int64) {
	for ; k < len(w.entries) && w.entries[k].offset < offset; k++ {
		if w.entries[k].ended > offset {
			return k, w.entries[k].offset
		}
	}
	return k, offset
}
