package oracle

import (
	"slices"
	"time"

	"rivulet/event"
	"rivulet/infer/attach"
)

// With attach.update row nobody sees that an arrival got another row. What was read of Redis tells: a row that is there
// from then on must be that of the arrival with all its edges, attached to rows that its neighbours may have had.

// mostSolved is how many choices of neighbours are solved for one row.
const mostSolved = 1 << 10

// solve finds the neighbours of a row that was solved anew, among the rows that Redis had, and keeps it for later
// predictions.
func (f *follower) solve(h *history, s *Said) {
	if f.oracle.Stored == nil || h.node(s.ID).Known {
		return
	}
	h.anew[s.ID] = append(h.anew[s.ID], s)
	for _, a := range s.Choices {
		options, likely := h.options(a, s, f.oracle.TTL)
		absent := func(e int) bool { return len(options[e]) == 0 || options[e][0].Arrived }
		tries, found := 0, false
		choices(options, likely, absent, -1, -1, func(choice []attach.Row) bool {
			tries++
			row := h.model.Grow(a, choice)
			for _, there := range f.oracle.storedSince(s) {
				found = found || same(row, there)
			}
			if found {
				h.add(s, row)
			}
			return !found && tries < mostSolved
		})
		if found {
			f.report.Rows++
			return
		}
	}
	h.unsolved = append(h.unsolved, s)
}

// date sets the time of a row that was solved anew without a prediction: the time at which it was first read.
func (o *Oracle) date(s *Said) {
	if o.Stored == nil {
		return
	}
	for _, r := range o.Stored(s.Version, s.ID) {
		if r.From.After(s.Sent) {
			s.Seen = r.From
			return
		}
	}
}

// storedSince returns the rows that Redis had for an id after its row was to be solved anew.
func (o *Oracle) storedSince(s *Said) (rows []attach.Row) {
	for _, r := range o.Stored(s.Version, s.ID) {
		if r.From.After(s.Sent) && !r.From.After(s.Seen) {
			rows = append(rows, r.Row)
		}
	}
	return rows
}

// countStrange counts the rows that were to be solved anew where Redis had one that no prediction and no choice of
// neighbours gives.
func (f *follower) countStrange(h *history) {
	for _, s := range h.unsolved {
		if slices.ContainsFunc(f.oracle.storedSince(s), func(row attach.Row) bool {
			return !slices.ContainsFunc(h.rows[s.ID], func(c candidate) bool { return same(row, c.row) })
		}) {
			f.report.Strange++
		}
	}
}

// Silent returns a row that was solved anew when a record with a timestamp was read, under the version of the
// arrival's first prediction.
func Silent(first Said, a *event.Arrival, ready time.Time) Said {
	first.Silent, first.Choices, first.Sent, first.Made = true, []*event.Arrival{a}, ready, time.Time{}
	first.Seen = ready.Add(time.Second)
	return first
}
