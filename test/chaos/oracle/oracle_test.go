package oracle

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/infer/attach"
)

// model is a version whose T has the ids that begin with t. A prediction is a hash of the arrival and the rows of its
// known neighbours, and so is an arrival's row.
type model struct{}

func (model) Rows(ids []string) []attach.Row {
	rows := make([]attach.Row, len(ids))
	for i, id := range ids {
		if strings.HasPrefix(id, "t") {
			rows[i] = attach.Row{Known: true, Cols: []int32{int32(digest(id))}}
		}
	}
	return rows
}

func digest(parts ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, parts...)
	return h.Sum64()
}

func (model) Predict(a *event.Arrival, choices [][]attach.Row) (numbers []uint64) {
	for _, rows := range choices {
		text := a.ID
		for _, row := range rows {
			text += fmt.Sprint(row.Known, row.Cols)
		}
		numbers = append(numbers, digest(text))
	}
	return numbers
}

func (m model) Grow(a *event.Arrival, rows []attach.Row) attach.Row {
	return attach.Row{Known: true, Cols: []int32{int32(m.Predict(a, [][]attach.Row{rows})[0])}}
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// after returns the time so many tenths of a second after the start.
func after(n int) time.Time { return start.Add(time.Duration(n) * 100 * time.Millisecond) }

// stream makes predictions as a consumer does, and remembers the rows of arrivals.
type stream struct {
	model
	rows map[string]attach.Row
	said []Said

	stored map[string][]Stored // rows that Redis had
}

// edges of the arrivals: a has neighbours in T alone, b has a, c has both.
var edges = map[string][]string{"a": {"t1", "t2"}, "b": {"a", "t1"}, "c": {"a", "b", "t3"}}

// predict predicts an arrival that was sent at n, without some neighbours.
func (s *stream) predict(n int, id string, without ...string) *Said {
	rows := s.Rows(edges[id])
	p := Said{Stream: "s", Place: fmt.Sprint(n), ID: id, Version: "v", Grows: true, Committed: true, Sent: after(n),
		Made: after(n + 1),
		Seen: after(n + 2)}
	for e, neighbour := range edges[id] {
		if row, arrived := s.rows[neighbour]; arrived {
			rows[e] = row
		}
		for _, w := range without {
			if w == neighbour {
				rows[e] = attach.Row{}
			}
		}
		switch {
		case rows[e].Arrived:
			p.Arrivals++
		case rows[e].Known:
			p.Known++
		default:
			p.Unknown++
		}
	}
	a := &event.Arrival{ID: id}
	p.Numbers = s.Predict(a, [][]attach.Row{rows})[0]
	row := s.Grow(a, rows)
	row.Arrived = true
	s.rows[id] = row
	s.said = append(s.said, p)
	return &s.said[len(s.said)-1]
}

// anew has the row of an arrival solved anew at n, with other edges.
func (s *stream) anew(first Said, n int, edges ...string) attach.Row {
	a := &event.Arrival{ID: first.ID, Edges: edges}
	s.said = append(s.said, Silent(first, a, after(n)))
	row := s.Grow(a, s.Rows(edges))
	row.Arrived = true
	return row
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		say       func(s *stream)
		outage    bool // from 2 to 3 seconds after the start
		want      Report
		violation string // part of the only one; empty: none
	}{
		"all is well": {
			say:  func(s *stream) { s.predict(0, "a"); s.predict(10, "b"); s.predict(20, "c") },
			want: Report{Attached: 2, Certain: 3},
		},
		"not attached to an arrival that was committed": {
			say:       func(s *stream) { s.predict(0, "a"); s.predict(10, "b", "a") },
			violation: "not attached to arrival a",
		},
		"an arrival whose commit nobody had seen": {
			say: func(s *stream) { s.predict(0, "a"); s.predict(1, "b", "a") },
		},
		"at least once nothing tells of a commit": {
			say: func(s *stream) { s.predict(0, "a").Committed = false; s.predict(10, "b", "a") },
		},
		"not attached to an arrival whose row may have expired": {
			say: func(s *stream) { s.predict(0, "a"); s.predict(40, "b", "a") },
		},
		"not attached, as an earlier record of the id has the row": {
			say: func(s *stream) {
				s.predict(0, "a")
				s.predict(40, "a")
				s.predict(45, "b", "a")
			},
		},
		"not attached to an arrival as Redis lost its row": {
			outage: true,
			say:    func(s *stream) { s.predict(10, "a"); s.predict(40, "b", "a") },
		},
		"attached to a row that expired long ago": {
			say:       func(s *stream) { s.predict(0, "a"); s.predict(160, "b") },
			want:      Report{},
			violation: "no neighbours of these counts give its numbers",
		},
		"attached to an arrival that came later": {
			say: func(s *stream) {
				s.predict(0, "b")
				s.predict(20, "a")
				late := s.predict(40, "b")
				late.Sent, late.Made, late.Seen = after(10), after(11), after(12)
			},
			violation: "no neighbours of these counts give its numbers",
		},
		"attached to the row of another record of the id": {
			say: func(s *stream) {
				edges["a"] = []string{"t1"}
				s.predict(0, "a")
				edges["a"] = []string{"t1", "t2"}
				s.predict(10, "b")
			},
			// a said something that a has not: it, and b which read its row, are not explained.
			violation: "2 violations",
		},
		"attached to a row of a prediction that nobody saw": {
			say: func(s *stream) {
				a := s.predict(0, "a") // aborted, and predicted again
				a.Made, a.Seen = after(31), after(32)
				s.stored = map[string][]Stored{"a": {{Row: s.rows["a"], From: after(5), To: after(15)}}}
				s.predict(10, "b")
			},
			want: Report{Attached: 1, Stored: 1},
		},
		"attached to a row that Redis had long ago": {
			say: func(s *stream) {
				s.predict(0, "b")
				s.rows["a"] = attach.Row{Known: true, Arrived: true, Cols: []int32{7}}
				s.stored = map[string][]Stored{"a": {{Row: s.rows["a"], From: after(5), To: after(15)}}}
				s.predict(200, "b")
			},
			violation: "no neighbours of these counts give its numbers",
		},
		"attached to a row that was solved anew without a prediction": {
			say: func(s *stream) {
				s.rows["a"] = s.anew(*s.predict(0, "a"), 5, "t1", "t2", "t3")
				s.stored = map[string][]Stored{"a": {{Row: s.rows["a"], From: after(6), To: after(15)}}}
				s.predict(30, "b")
			},
			want: Report{Attached: 1, Certain: 1, Rows: 1},
		},
		"rows solved anew that are not those of their edges": {
			say: func(s *stream) {
				for n := range 30 {
					row := s.anew(*s.predict(1000*n, "a"), 1000*n+5, "t1", "t2", "t3")
					s.said[len(s.said)-1].Choices[0].Edges = []string{"t1", "t2", "t4"}
					s.stored = map[string][]Stored{"a": append(s.stored["a"], Stored{row, after(1000*n + 6), after(1000*n + 9)})}
				}
			},
			violation: "30 rows that were solved anew have values that nothing explains, at most 20 may",
		},
		"other numbers": {
			say:       func(s *stream) { s.predict(0, "a").Numbers++ },
			violation: "no neighbours of these counts give its numbers",
		},
		"a node of T left out": {
			say:       func(s *stream) { s.predict(0, "a", "t2") },
			violation: "no neighbours of these counts give its numbers",
		},
		"a neighbour too many": {
			say:       func(s *stream) { s.predict(0, "a").Unknown++ },
			violation: "it counts 3 neighbours, the arrival has 2",
		},
		"degraded while Redis is away": {
			outage: true,
			say:    func(s *stream) { s.predict(22, "a", "t2").Degraded = true },
			want:   Report{Degraded: 1},
		},
		"degraded, and nothing is unread": {
			outage: true,
			say:    func(s *stream) { s.predict(22, "a").Degraded = true },
			want:   Report{Degraded: 1},
		},
		"degraded, with other numbers": {
			outage: true,
			say: func(s *stream) {
				p := s.predict(22, "a", "t2")
				p.Degraded = true
				p.Numbers++
			},
			violation: "no neighbours of these counts give its numbers",
		},
		"degraded, with a count that its numbers do not have": {
			outage: true,
			say: func(s *stream) {
				p := s.predict(22, "a", "t2")
				p.Degraded, p.Known, p.Unknown = true, 2, 0
			},
			violation: "no neighbours of these counts give its numbers",
		},
		"degraded without an outage": {
			say:       func(s *stream) { s.predict(22, "a", "t2").Degraded = true },
			want:      Report{Degraded: 1},
			violation: "without an outage of Redis",
		},
		"degraded long after an outage": {
			outage:    true,
			say:       func(s *stream) { s.predict(200, "a", "t2").Degraded = true },
			want:      Report{Degraded: 1},
			violation: "without an outage of Redis",
		},
		"degraded in a batch that was in hand": {
			outage: true,
			say:    func(s *stream) { s.predict(45, "a", "t2").Degraded = true; s.predict(46, "a", "t2").Degraded = true },
			want:   Report{Degraded: 2},
		},
		"degraded for longer than it takes to try again": {
			outage: true,
			say: func(s *stream) {
				for n := range 3 {
					s.predict(45+n, "a", "t2").Degraded = true
				}
			},
			want:      Report{Degraded: 3},
			violation: "3 predictions were degraded more than 1s after the outage",
		},
		"many degraded in an outage": {
			outage: true,
			say: func(s *stream) {
				for n := range 10 {
					s.predict(22+n, "a", "t2").Degraded = true
				}
			},
			want: Report{Degraded: 10},
		},
		"time-outs again and again": {
			say: func(s *stream) {
				for n := range 4 {
					p := s.predict(400+n, "a", "t2")
					p.Degraded, p.Stream = true, "slow"
				}
			},
			violation: "4 predictions were degraded in time-outs that no fault explains, at most 3 may be",
		},
		"degraded, and its log tells of a time-out": {
			say: func(s *stream) {
				p := s.predict(402, "a", "t2")
				p.Degraded, p.Stream = true, "slow"
			},
			want: Report{Degraded: 1, Slow: 1},
		},
		"a clock that was stepped": {
			say: func(s *stream) {
				s.predict(0, "a").Seen = after(30)
				s.predict(10, "b")
				s.said[0].Made, s.said[0].Committed = time.Time{}, false
			},
			want: Report{Attached: 1},
		},
		"an id that nobody sent": {
			say:       func(s *stream) { s.said = append(s.said, Said{Stream: "s", ID: "x", Version: "v"}) },
			violation: "no arrival of that id was sent",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stream{rows: map[string]attach.Row{}}
			c.say(s)
			o := Oracle{TTL: 5 * time.Second, Retry: time.Second, InHand: 2, MostSlow: 3,
				Model: func(string) (Model, error) { return model{}, nil },
				Arrival: func(id string) *event.Arrival {
					if edges[id] == nil {
						return nil
					}
					return &event.Arrival{ID: id, Edges: edges[id]}
				},
				Stored:   func(_, id string) []Stored { return s.stored[id] },
				OfStream: map[string][]Outage{"slow": {{after(400), after(403)}}}}
			if c.outage {
				o.Outages = []Outage{{after(20), after(30)}}
			}
			report, violations := o.Judge(s.said)
			if c.violation == "" && report != c.want {
				t.Errorf("%+v, want %+v", report, c.want)
			}
			violated := strings.Join(violations, "; ")
			if len(violations) > 1 {
				violated = fmt.Sprintf("%d violations: %s", len(violations), violated)
			}
			if (violated == "") != (c.violation == "") || !strings.Contains(violated, c.violation) {
				t.Errorf("violations %q, want %q", violated, c.violation)
			}
		})
	}
}

// An outage begins with a line of its kind that names a time-out, and ends with the line that says so, or the log.
func TestReadOutages(t *testing.T) {
	log := `time=2026-03-01T12:00:10Z level=WARN msg="mapping rows cannot be read: predictions are" error="i/o timeout"
time=2026-03-01T12:00:12Z level=INFO msg="mapping rows are read again" degraded_lookups=3
a line of another kind
time=2026-03-01T12:01:00Z level=WARN msg="mapping rows cannot be read: predictions are" error="the version has vanished"
time=2026-03-01T12:01:02Z level=INFO msg="mapping rows are read again"
time=2026-03-01T12:02:00Z level=WARN msg="rows and notes of arrivals cannot be written" error=` +
		`"context deadline exceeded"
time=2026-03-01T12:02:09Z level=INFO msg="the last line"
`
	got, err := ReadOutages(strings.NewReader(log))
	want := []Outage{{after(50), after(120)}, {after(1150), after(1290)}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// A version that says other numbers of everything is not left undecided: some predictions may be, not nearly all.
func TestUndecidedAreBounded(t *testing.T) {
	s := &stream{rows: map[string]attach.Row{}}
	for n := range 100 {
		p := s.predict(100*n, "b")
		p.Arrivals, p.Numbers, p.Made = 1, 1, after(100*n+9)
		s.predict(100*n, "a").Made = after(100*n + 9) // late, as after a transaction that was aborted
	}
	o := Oracle{TTL: 5 * time.Second, Model: func(string) (Model, error) { return model{}, nil },
		Arrival: func(id string) *event.Arrival { return &event.Arrival{ID: id, Edges: edges[id]} }}
	report, violations := o.Judge(s.said)
	if len(violations) == 0 {
		t.Errorf("%v, and no violation", report)
	}
}

// After a stall of which hundreds of predictions are left undecided, predictions are judged again.
func TestJudgesOnAfterAStall(t *testing.T) {
	s := &stream{rows: map[string]attach.Row{}}
	for n := range 12 * mostLeft { // calm, so that few are undecided beside them
		s.predict(1000*n, "a")
		s.predict(1000*n+10, "b")
	}
	for range mostLeft + 10 {
		p := s.predict(-1000, "b")
		p.Arrivals, p.Numbers, p.Made = 1, 1, after(-991)
		again := s.predict(-1000, "a") // late, as after a transaction that was aborted
		again.Made, again.Seen = after(-991), after(-990)
	}
	wrong := s.predict(20_000*mostLeft, "a")
	wrong.Numbers++
	o := Oracle{TTL: 5 * time.Second, Model: func(string) (Model, error) { return model{}, nil },
		Arrival: func(id string) *event.Arrival { return &event.Arrival{ID: id, Edges: edges[id]} }}
	report, violations := o.Judge(s.said)
	if len(violations) != 1 || !strings.Contains(violations[0], fmt.Sprint(20_000*mostLeft)) {
		t.Errorf("%v: %d violations, the last %.300q", report, len(violations), violations[max(0, len(violations)-1):])
	}
}
