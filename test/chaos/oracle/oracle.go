package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rivulet/event"
	"rivulet/infer/attach"
)

// Model is one version, as far as the numbers of a prediction depend on it.
type Model interface {
	// Rows returns the row of M of each id; it is not Known where the id is no node of T.
	Rows(ids []string) []attach.Row
	// Predict returns a hash of an arrival's numbers for each choice of rows of its neighbours.
	Predict(a *event.Arrival, choices [][]attach.Row) []uint64
	// Grow returns the row that an arrival gets which is attached to these rows.
	Grow(a *event.Arrival, rows []attach.Row) attach.Row
}

// Said is a prediction, as the reader saw it.
type Said struct {
	Stream      string
	Place       string // of its arrival, for messages
	ID, Version string
	Numbers     uint64 // a hash of its class, probabilities and logits
	// Known, Arrivals and Unknown are the prediction's counts of neighbours.
	Known, Arrivals, Unknown int
	Degraded                 bool
	Grows                    bool // arrivals of its stream get rows
	// Committed says that the offset of its arrival was committed when its answer could be read (exactly_once).
	Committed bool
	Sent      time.Time // its record's timestamp: its neighbours were not looked up before
	Made      time.Time // by the consumer's clock; zero: that was stepped
	Seen      time.Time // by the reader
	// Choices are the arrivals that it may be of, if edges come as records of their own: first, if ByLog is set, the
	// arrival with its edges by the log, then with the edges that it has if its wait ended for another reason. nil: the
	// arrival that is sent under its id.
	Choices []*event.Arrival
	ByLog   bool
	// Silent: no prediction, but the row of one that was solved anew.
	Silent bool
}

// made returns when the prediction was made, or the closest that is known.
func (s *Said) made() time.Time {
	if s.Made.IsZero() {
		return s.Seen
	}
	return s.Made
}

// Oracle judges predictions of streams that share artifacts and a Redis.
type Oracle struct {
	// Model returns a version; nil: it is not known.
	Model func(version string) (Model, error)
	// Arrival returns the arrival that is sent under an id.
	Arrival func(id string) *event.Arrival
	// Forgotten returns when the record that asks to forget an id was sent; zero: it was not. nil: no id is forgotten.
	Forgotten func(id string) time.Time
	// Stored returns the rows that Redis had for an id under a version; nil: nobody read them.
	Stored func(version, id string) []Stored
	// TTL is attach.ttl. Rows live for at least that time and at most twice as long.
	TTL time.Duration
	// Outages are times in which rows may be unread, or were lost: of all consumers, and of those of each stream.
	Outages  []Outage
	OfStream map[string][]Outage
	// Retry is how long after an outage a consumer may go on without rows: its breaker is open, and the lookup that tries
	// may meet a connection of before. Later, at most InHand predictions of a stream may be degraded: those of batches
	// that were looked up before. MostSlow bounds those of outages of which only a consumer's log tells.
	Retry            time.Duration
	InHand, MostSlow int
}

// Stored is a row of an arrival that Redis had, from the first time that it was read to the last.
type Stored struct {
	Row      attach.Row
	From, To time.Time
}

// arrivals returns the arrivals that a prediction may be of.
func (o *Oracle) arrivals(s *Said) []*event.Arrival {
	if s.Choices != nil {
		return s.Choices
	}
	return []*event.Arrival{o.Arrival(s.ID)}
}

// Report counts what was compared.
type Report struct {
	Attached int // predictions whose neighbours were arrivals, and whose numbers were explained
	Degraded int // degraded predictions whose numbers were explained
	Slow     int // degraded predictions of an outage of which only a consumer's log tells
	Certain  int // neighbours that had to be attached, and were
	Cut      int // predictions explained by other edges than their arrivals have by the log
	Rows     int // rows that were solved anew without a prediction, whose neighbours were found
	Strange  int // such rows that nothing gives
	Stored   int // predictions explained by a row that Redis had and that no visible prediction gives
	// Undecided are predictions with a neighbour whose row nobody read, which may be of a transaction that was aborted,
	// or with more choices of neighbours than can be tried: Many.
	Undecided, Many int
}

func (r Report) String() string {
	return fmt.Sprintf("The oracle found the neighbours of %d predictions with arrivals among them (%d by a "+
		"row that Redis had and no prediction gives, %d by edges whose waits a clock or an operator ended) and of %d "+
		"degraded ones, %d of these in time-outs that no fault explains; "+
		"%d neighbours had to be arrivals; %d predictions were not decided, %d of them for more choices than can be tried; "+
		"%d rows were solved anew without a prediction, and %d more have values that nothing explains",
		r.Attached, r.Stored, r.Cut, r.Degraded, r.Slow, r.Certain, r.Undecided, r.Many, r.Rows, r.Strange)
}

// Judge returns what was compared, and what breaks a promise.
func (o *Oracle) Judge(all []Said) (Report, []string) {
	for i := range all {
		if all[i].Silent {
			o.date(&all[i])
		}
	}
	slices.SortStableFunc(all, func(a, b Said) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), a.made().Compare(b.made()))
	})
	f := follower{oracle: o, all: map[string][]*Said{}, many: map[*Said]bool{}, late: map[ending]int{}}
	for i := range all {
		s := &all[i]
		if s.Silent {
			continue
		}
		f.all[s.ID] = append(f.all[s.ID], s)
		if s.Degraded {
			f.bound(s)
		}
	}
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].Version == all[from].Version {
			to++
		}
		if model, err := o.Model(all[from].Version); err != nil {
			f.violated(&all[from], "%d predictions name a version that cannot be read: %v", to-from, err)
		} else if model != nil {
			f.follow(model, all[from:to])
		}
		from = to
	}
	if most := 20 + f.report.Attached/10; f.report.Undecided+f.report.Stored > most { // else the oracle sees too little
		f.violations = append(f.violations, fmt.Sprintf("%d predictions were not decided, and %d were attached to rows that "+
			"no prediction gives: at most %d may be; the first at %s", f.report.Undecided, f.report.Stored, most, f.first))
	}
	if most := 20 + f.report.Rows/10; f.report.Strange > most {
		f.violations = append(f.violations, fmt.Sprintf("%d rows that were solved anew have values that nothing explains, "+
			"at most %d may", f.report.Strange, most))
	}
	for of, n := range f.late {
		if n > o.InHand {
			f.violations = append(f.violations, fmt.Sprintf(
				"%s: %d predictions were degraded more than %v after the outage that "+
					"ended at %s, at most %d may be", of.stream, n, o.Retry, of.at.Format(clock), o.InHand))
		}
	}
	if f.report.Slow > o.MostSlow {
		f.violations = append(f.violations, fmt.Sprintf("%d predictions were degraded in time-outs that no fault explains, "+
			"at most %d may be", f.report.Slow, o.MostSlow))
	}
	return f.report, f.violations
}

// ending is the end of an outage, as one stream saw it.
type ending struct {
	stream string
	at     time.Time
}

// bound checks that Redis had an outage when a degraded prediction was made, and counts those that came late.
func (f *follower) bound(s *Said) {
	at := s.made()
	last := ending{stream: s.Stream}
	for _, o := range f.oracle.Outages {
		if within([]Outage{o}, at) && o.To.After(last.at) {
			last.at = o.To
		}
	}
	switch {
	case !last.at.IsZero() && !at.After(last.at.Add(f.oracle.Retry)):
	case within(f.oracle.OfStream[s.Stream], at):
		f.report.Slow++
	case !last.at.IsZero():
		f.late[last]++
	default:
		f.violated(s, "it is degraded at %s, without an outage of Redis", at.Format(clock))
	}
}

// clock is how times are printed.
const clock = "15:04:05.000"

func (f *follower) violated(s *Said, format string, args ...any) {
	f.violations = append(f.violations, fmt.Sprintf("%s: %v: arrival %s, version %s: %s", s.Stream, s.Place, s.ID,
		s.Version, fmt.Sprintf(format, args...)))
}
