package oracle

import (
	"fmt"
	"slices"
	"time"

	"rivulet/event"
	"rivulet/infer/attach"
)

// follower judges predictions in the order in which they were made.
type follower struct {
	oracle     *Oracle
	report     Report
	violations []string
	all        map[string][]*Said // the predictions of each id, by all versions
	left       int                // predictions that were not explained at first
	late       map[ending]int     // degraded predictions after each outage and its time of retries
	first      string             // the first prediction that is undecided, for messages
	many       map[*Said]bool     // predictions with more choices of neighbours than can be tried
}

// candidate is a row that an arrival may have had.
type candidate struct {
	row attach.Row
	of  *Said
}

// history is what is known of the arrivals of one version.
type history struct {
	model Model
	rows  map[string][]candidate // of each id, in the order of the stream
	inT   map[string]attach.Row  // rows of nodes of T, and of ids that are none
	tries map[string][]*Said     // the predictions of each id, degraded or not

	anew     map[string][]*Said // rows of each id that were solved anew without a prediction
	unsolved []*Said            // those of them whose neighbours are not found
}

// follow judges the predictions of one version. A prediction whose neighbours are not explained yet, because a
// consumer's clock was stepped, is looked at again when the others are.
func (f *follower) follow(model Model, all []Said) {
	h := &history{model: model, rows: map[string][]candidate{}, inT: map[string]attach.Row{},
		tries: map[string][]*Said{}, anew: map[string][]*Said{}}
	var left []*Said
	for i := range all {
		if !all[i].Silent {
			h.tries[all[i].ID] = append(h.tries[all[i].ID], &all[i])
		}
	}
	for i := range all {
		s := &all[i]
		if s.Silent {
			f.solve(h, s)
		} else if !f.explain(h, s, false) && !f.explain(h, s, true) {
			left = append(left, s)
			f.left++
		}
	}
	// Of a consumer whose clock was stepped it is not known when predictions were made: they come late in this order.
	left = slices.DeleteFunc(left, func(s *Said) bool { return f.explain(h, s, false) })
	f.countStrange(h)
	undecided := map[string][]*Said{}
	for _, s := range left {
		if f.undecidable(h, s, undecided) {
			undecided[s.ID] = append(undecided[s.ID], s)
			f.report.Undecided++
			if f.many[s] {
				f.report.Many++
			}
			if f.first == "" {
				f.first = fmt.Sprintf("%s, %s at %s", s.Made.Format(clock), s.Stream, s.Place)
			}
			continue
		}
		f.violated(s, "no neighbours of these counts give its numbers: %d known, %d arrivals, %d unknown, degraded %t",
			s.Known, s.Arrivals, s.Unknown, s.Degraded)
	}
}

// undecidable reports whether a prediction may be right though no neighbours were found. One of them may have had a row
// that nobody read: of a prediction in a transaction that was aborted, or of one that is undecided itself.
// Or its row was solved anew without a prediction, near a cut with other edges. Or there are more choices of neighbours
// than can be tried.
func (f *follower) undecidable(h *history, s *Said, undecided map[string][]*Said) bool {
	if f.many[s] || s.Arrivals == 0 {
		return f.many[s]
	}
	for _, id := range f.oracle.arrivals(s)[0].Edges {
		if h.node(id).Known {
			continue
		}
		if len(f.aborted(id, s)) > 0 ||
			slices.ContainsFunc(h.anew[id], func(of *Said) bool { return lives(of, s, f.oracle.TTL) }) ||
			slices.ContainsFunc(undecided[id], func(of *Said) bool { return lives(of, s, f.oracle.TTL) }) {
			return true
		}
	}
	return false
}

// aborted returns the predictions of an arrival that may have been made before in transactions that were aborted, early
// enough for a row that a prediction attached to. They were answered long after they were sent.
func (f *follower) aborted(id string, s *Said) (all []*Said) {
	const atOnce = 100 * time.Millisecond
	for _, again := range f.all[id] {
		if again.Committed && again.Sent.Before(s.Seen) && again.made().Sub(again.Sent) > atOnce &&
			lives(again, &Said{Sent: s.Sent, Seen: again.Seen}, f.oracle.TTL) {
			all = append(all, again)
		}
	}
	return all
}

// explain finds the neighbours of a prediction, checks that none is missing, and keeps the row that its arrival got.
// stored allows neighbours with rows that Redis had, whatever gave them: a transaction that was aborted after its rows
// were written leaves rows of predictions that nobody saw.
func (f *follower) explain(h *history, s *Said, stored bool) bool {
	for i, a := range f.oracle.arrivals(s) {
		if f.explainAs(h, s, a, stored) {
			if s.Choices != nil && (i > 0 || !s.ByLog) {
				f.report.Cut++
			}
			return true
		}
	}
	return false
}

// explainAs is explain for one of the arrivals that a prediction may be of.
func (f *follower) explainAs(h *history, s *Said, a *event.Arrival, stored bool) bool {
	if a == nil {
		f.violated(s, "no arrival of that id was sent")
		return true
	}
	options, likely := h.options(a, s, f.oracle.TTL)
	if stored && !f.oracle.addStored(a, s, options, likely) {
		return false
	}
	rows, ok, all := search(h.model, a, s, options, likely, f.tries())
	if !ok {
		f.many[s] = !all
		return false
	}
	if s.Known+s.Arrivals+s.Unknown != len(a.Edges) {
		f.violated(s, "it counts %d neighbours, the arrival has %d", s.Known+s.Arrivals+s.Unknown, len(a.Edges))
	}
	if s.Arrivals > 0 {
		f.report.Attached++
	}
	if stored {
		f.report.Stored++
	}
	if s.Degraded {
		f.report.Degraded++
		return true
	}
	f.complete(h, s, a, rows)
	if s.Grows && !h.node(s.ID).Known {
		h.add(s, h.model.Grow(a, rows))
	}
	return true
}

// node returns the row of a node of T.
func (h *history) node(id string) attach.Row {
	row, ok := h.inT[id]
	if !ok {
		row = h.model.Rows([]string{id})[0]
		h.inT[id] = row
	}
	return row
}

// add keeps the row that an arrival may have from now on.
func (h *history) add(s *Said, row attach.Row) {
	if !row.Known {
		return
	}
	row.Arrived = true
	h.rows[s.ID] = append(h.rows[s.ID], candidate{row, s})
}

// options returns the rows that each neighbour may have had when its record was looked up: after it was sent, and
// before its prediction was seen. The search begins with the likely ones: rows that were seen before the prediction was
// made and not long ago, the first of them first, because an id that has a row keeps it.
func (h *history) options(a *event.Arrival, s *Said, ttl time.Duration) (options [][]attach.Row, likely []bool) {
	options, likely = make([][]attach.Row, len(a.Edges)), make([]bool, len(a.Edges))
	for e, id := range a.Edges {
		if row := h.node(id); row.Known {
			options[e], likely[e] = []attach.Row{row}, true
			continue
		}
		var may []candidate
		for _, c := range slices.Backward(h.rows[id]) {
			if ttl > 0 && c.of.made().Before(s.Sent.Add(-2*ttl-longAgo)) {
				break
			}
			if lives(c.of, s, ttl) {
				may = append(may, c)
			}
		}
		old := func(c candidate) bool { return ttl > 0 && c.of.Seen.Add(2*ttl).Before(s.made()) }
		slices.SortStableFunc(may, func(a, b candidate) int {
			if old(a) != old(b) && old(a) {
				return 1
			} else if old(a) != old(b) {
				return -1
			}
			return a.of.Seen.Compare(b.of.Seen)
		})
		for _, c := range may {
			likely[e] = likely[e] || !old(c) && c.of.Seen.Before(s.made())
			if !slices.ContainsFunc(options[e], func(r attach.Row) bool { return same(r, c.row) }) {
				options[e] = append(options[e], c.row)
			}
		}
	}
	return options, likely
}

const (
	// skew is by how much the times of two processes may be apart: records' timestamps have milliseconds, and rows are
	// kept until an epoch of Redis' clock ends.
	skew = time.Second
	// writing is how long after its prediction was seen a row may be written.
	writing = 5 * time.Second
	// mostLeft is after how many predictions that were not explained the search for others is short: each takes long.
	// After a stall of a busy machine there may be many, as the rows that a neighbour may have had are as many as the
	// records of its id in that time; rows that depend on theirs are not known either, until these have expired.
	mostLeft = 500
)

// tries is how many choices of neighbours may be tried for one prediction.
func (f *follower) tries() int {
	if f.left > mostLeft {
		return fewTries
	}
	return mostTries
}

// lives reports whether the row of a prediction may have been there when a record was looked up.
func lives(of, s *Said, ttl time.Duration) bool {
	first := of.Made
	if first.IsZero() {
		first = of.Sent
	}
	return !first.After(s.Seen) && (ttl == 0 || !of.Seen.Add(2*ttl+writing).Before(s.Sent))
}

// longAgo is how far predictions may be out of the order in which they were made.
const longAgo = time.Minute

func same(a, b attach.Row) bool { return slices.Equal(a.Cols, b.Cols) && slices.Equal(a.Vals, b.Vals) }

// addStored adds the rows that Redis had for a prediction's neighbours when it was made, before the others. It reports
// whether there are any that the options lack.
func (o *Oracle) addStored(a *event.Arrival, s *Said, options [][]attach.Row, likely []bool) (more bool) {
	if o.Stored == nil {
		return false
	}
	for e, id := range a.Edges {
		var there []attach.Row
		for _, r := range o.Stored(s.Version, id) {
			if r.To.Add(2*o.TTL).Before(s.Sent) || r.From.Add(-2*o.TTL).After(s.Seen) {
				continue
			}
			there, likely[e] = append(there, r.Row), true
			more = more || !slices.ContainsFunc(options[e], func(other attach.Row) bool { return same(r.Row, other) })
		}
		for _, row := range options[e] {
			if !slices.ContainsFunc(there, func(other attach.Row) bool { return same(row, other) }) {
				there = append(there, row)
			}
		}
		options[e] = there
	}
	return more
}

// complete checks that a prediction lacks no arrival whose row was there for certain.
func (f *follower) complete(h *history, s *Said, a *event.Arrival, rows []attach.Row) {
	if !s.Grows || s.Made.IsZero() {
		return
	}
	for e, id := range a.Edges {
		switch by := h.certain(f.oracle, id, s); {
		case by == nil:
		case rows[e].Known:
			f.report.Certain++
		default:
			f.violated(s, "it is not attached to arrival %s, whose offset (%v) was committed at %s, before the record was "+
				"sent at %s", id, by.Place, by.Seen.Format(clock), s.Sent.Format(clock))
		}
	}
}

// certain returns the prediction of an arrival whose id had a row for certain, whenever the neighbours of a record were
// looked up. Its offset was committed before the record was sent, so that its id had a row at that time: its own, or
// that of another record of the id, predicted shortly before. No row is older than its record, and each lives for TTL.
func (h *history) certain(o *Oracle, id string, s *Said) *Said {
	if h.node(id).Known {
		return nil
	}
	if o.Forgotten != nil {
		if asked := o.Forgotten(id); !asked.IsZero() && asked.Before(s.Seen) {
			return nil
		}
	}
	for _, c := range slices.Backward(h.rows[id]) {
		if c.of.made().Before(s.Sent.Add(-2*o.TTL-longAgo)) && o.TTL > 0 {
			break
		}
		if !c.of.Committed || !c.of.Seen.Before(s.Sent) {
			continue
		}
		first := c.of.Sent
		for _, other := range slices.Backward(h.tries[id]) {
			if other.made().Before(c.of.Sent.Add(-2*o.TTL-longAgo)) && o.TTL > 0 {
				break
			}
			if other.Sent.Before(first) && !other.made().Before(c.of.Sent.Add(-2*o.TTL-skew)) {
				first = other.Sent
			}
		}
		if (o.TTL == 0 || s.Made.Before(first.Add(o.TTL-skew))) && !o.away(first, s.Made) {
			return c.of
		}
	}
	return nil
}

// away reports whether Redis had an outage at some time, for any of the streams.
func (o *Oracle) away(from, to time.Time) bool {
	for _, outages := range o.OfStream {
		if overlaps(outages, from, to) {
			return true
		}
	}
	return overlaps(o.Outages, from, to)
}
