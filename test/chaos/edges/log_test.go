package edges

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/event/json"
	"rivulet/kafka"
	"rivulet/test/chaos/ledger"
)

const wait = 2 * time.Second

// topic has one partition whose records go through a window and into a log.
type topic struct {
	t      *testing.T
	window *window.Window
	log    *Log
	next   int64
	got    map[int64][]string    // the edges that the window gives each arrival
	again  map[[2]int64][]string // the edges of each revision, by its arrival's offset and its number
}

func newTopic(t *testing.T, o Options) *topic {
	update := window.UpdateOff
	if o.Age > 0 {
		update = window.UpdatePredict
	}
	return &topic{t, window.New(window.Options{Wait: o.Wait, Update: update, Settle: o.Settle, Age: o.Age,
		Forms: &form.Reader{Forget: true}}, window.Progress{}), NewLog(o), 0, map[int64][]string{},
		map[[2]int64][]string{}}
}

func (p *topic) add(value []byte, err error, r Record, headers ...event.Header) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	r.Seen = r.Time
	p.log.Add(ledger.Place{Offset: p.next}, r)
	p.window.Add(&kafka.Record{Position: kafka.Position{Offset: p.next}, Time: r.Time, Key: []byte(r.ID), Value: value,
		Headers: headers})
	p.next++
}

func (p *topic) edge(id, to string, at time.Time) {
	p.t.Helper()
	value, err := json.Codec{}.AppendEdge(nil, &event.Edge{Source: id, Target: to, Weight: 1})
	p.add(value, err, Record{Time: at, ID: id, Kind: Edge, Neighbours: []string{to}},
		event.Header{Key: event.HeaderKind, Value: []byte(event.KindEdge)})
}

func (p *topic) arrival(id string, own []string, count int, at time.Time) {
	p.t.Helper()
	a := event.Arrival{ID: id, Features: event.Features{Values: []float32{1}}, Edges: own, EdgeCount: count}
	value, err := json.Codec{}.AppendArrival(nil, &a)
	p.add(value, err, Record{Time: at, ID: id, Neighbours: own, Count: count})
}

// take reads what leaves the window.
func (p *topic) take() {
	for out, some := p.window.Take(); some; out, some = p.window.Take() {
		for _, r := range out.Records {
			if r.Value == nil {
				continue // it asks to forget an id
			}
			var a event.Arrival
			if err := (json.Codec{}).DecodeArrival(r.Value, &a); err != nil {
				p.t.Fatal(err)
			}
			set := slices.Clone(a.Edges)
			joined := out.Joined[r.Position]
			for _, e := range joined.Edges {
				set = append(set, e.Target)
			}
			slices.Sort(set)
			if set = slices.Compact(set); joined.Revision > 0 {
				p.again[[2]int64{joined.Source.Offset, int64(joined.Revision)}] = set
			} else {
				p.got[r.Position.Offset] = set
			}
		}
	}
}

// Each arrival has by the log the edges that a consumer's window gives it, whatever comes in whatever order.
func TestSetsAreThoseOfAWindow(t *testing.T) {
	var outcomes [Revised]int
	revisions := 0
	for seed := range uint64(200) {
		o := Options{Wait: wait}
		if seed%2 == 1 {
			o.Age, o.Settle = 4*wait, time.Duration(1+seed%3)*time.Second
		}
		p, rng := newTopic(t, o), rand.New(rand.NewPCG(seed, 0))
		begin := time.UnixMilli(1_700_000_000_000)
		for k := range 150 {
			at := begin.Add(time.Duration(k)*200*time.Millisecond + time.Duration(rng.IntN(3000))*time.Millisecond)
			id := fmt.Sprint("n", rng.IntN(8))
			if once := fmt.Sprint("n", k/25); rng.IntN(40) == 0 && p.log.of(ledger.Place{}).forgets[once] == 0 {
				p.add(nil, nil, Record{Time: at, ID: once, Kind: Forget})
			} else if rng.IntN(3) > 0 {
				p.edge(id, fmt.Sprint("k", rng.IntN(20)), at)
			} else {
				p.arrival(id, []string{"t"}, rng.IntN(5), at)
			}
		}
		p.take()
		p.window.Flush(true)
		p.take()
		p.log.EachRevised(func(at ledger.Place, r *Revisions) {
			for _, one := range r.All {
				key := [2]int64{at.Offset, int64(one.Number)}
				if got := p.again[key]; !slices.Equal(got, one.Set) {
					t.Fatalf("seed %d, revision %d of offset %d has %v, the window gives it %v", seed, one.Number, at.Offset,
						one.Set, got)
				}
				delete(p.again, key)
				revisions++
			}
		})
		for key := range p.again { // one may settle as the partition is idle
			if r := p.log.Revisions(ledger.Place{Offset: key[0]}); !r.Open || int(key[1]) != len(r.All)+2 {
				t.Fatalf("seed %d: the window gives offset %d revision %d, by the log it has %d", seed, key[0], key[1], len(r.All))
			}
		}
		for offset, want := range p.got {
			s := p.log.Sets(ledger.Place{Offset: offset})
			if !slices.Equal(s.All[0], want) || s.Outcome == Open && !s.Ready.IsZero() {
				t.Fatalf("seed %d, offset %d: %v with %v, the window gives it %v", seed, offset, s.Outcome, s.All[0], want)
			}
			outcomes[s.Outcome]++
		}
	}
	for o, n := range outcomes {
		if n == 0 {
			t.Errorf("no arrival is %v", Outcome(o))
		}
	}
	if revisions < 100 {
		t.Errorf("%d revisions were compared", revisions)
	}
}

// Where a partition was idle, reading began anew, or records were deleted unread, an arrival may have fewer edges.
func TestCuts(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		seen   int // of the edge behind the arrival
		do     func(*Log)
		want   [][]string
		forget bool
	}{
		"no cut": {seen: 300, want: [][]string{{"before", "behind", "own"}}},
		"idle":   {seen: 2200, want: [][]string{{"before", "behind", "own"}, {"before", "own"}}},
		"begun at the arrival": {seen: 300, want: [][]string{{"before", "behind", "own"}, {"behind", "own"}},
			do: func(l *Log) { l.Begin(ledger.Place{Offset: 1}, false) }},
		"deleted unread": {seen: 300, want: [][]string{{"before", "behind", "own"}, {"before", "own"}, {"behind", "own"},
			{"own"}}, do: func(l *Log) { l.Begin(ledger.Place{Offset: 3}, true) }},
		"the neighbour is forgotten": {seen: 300, want: [][]string{{"before~forgotten", "behind", "own"}}, forget: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLog(Options{Wait: wait})
			add := func(offset int64, r Record, ms, seen int) {
				r.Time, r.Seen = at(ms), at(seen)
				l.Add(ledger.Place{Offset: offset}, r)
			}
			add(0, Record{ID: "n", Kind: Edge, Neighbours: []string{"before"}}, 0, 0)
			if c.forget {
				add(1, Record{ID: "before", Kind: Forget}, 50, 50)
			}
			add(2, Record{ID: "n", Neighbours: []string{"own"}, Count: 4}, 100, 100)
			add(3, Record{ID: "n", Kind: Edge, Neighbours: []string{"behind"}}, 200, c.seen)
			add(4, Record{}, 4000, 4000) // 3.8 s after the record before it: the partition was idle
			if c.do != nil {
				c.do(l)
			}
			s := l.Sets(ledger.Place{Offset: 2})
			if !slices.EqualFunc(s.All, c.want, slices.Equal) || s.Outcome != Late || s.Disturbed != (len(c.want) > 1) ||
				!s.Ready.IsZero() {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Reading begins anew behind an edge that made an arrival complete: then it waits for the next one.
func TestACutHasAnArrivalWaitForMore(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	l := NewLog(Options{Wait: wait})
	for k, r := range []Record{{ID: "n", Kind: Edge, Neighbours: []string{"before"}},
		{ID: "n", Neighbours: []string{"own"},
			Count: 2}, {ID: "n", Kind: Edge, Neighbours: []string{"behind"}},
		{ID: "n", Kind: Edge, Neighbours: []string{"late"}}} {
		r.Time = begin.Add(time.Duration(k) * 100 * time.Millisecond)
		r.Seen = r.Time
		l.Add(ledger.Place{Offset: int64(k)}, r)
	}
	l.Begin(ledger.Place{Offset: 1}, false)
	s := l.Sets(ledger.Place{Offset: 1})
	want := [][]string{{"before", "own"}, {"behind", "own"}}
	if !slices.EqualFunc(s.All, want, slices.Equal) || s.Outcome != Complete || !s.Disturbed {
		t.Errorf("%+v, want %v", s, want)
	}
}

// An edge that no arrival takes has a dead letter, and one that is taken has none.
func TestUnmatched(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	p := newTopic(t, Options{Wait: wait})
	p.edge("n", "taken", begin)
	p.arrival("n", nil, 1, begin.Add(time.Second))
	p.edge("n", "late", begin.Add(1500*time.Millisecond))
	for k := range 6 {
		p.arrival("other", nil, 1, begin.Add(time.Duration(2+k)*time.Second))
	}
	for letters, want := range map[[2]int][]int64{{0, 1}: nil, {1, 1}: {0}, {0, 0}: {2}, {0, 2}: {2}} {
		_, _, wrong := p.log.Unmatched(func(at ledger.Place) int { return letters[at.Offset/2] }, 0,
			func(time.Time) bool { return false })
		var got []int64
		for _, at := range wrong {
			got = append(got, at.Offset)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d dead letters of the edge that is taken and %d of the other: wrong %v, want %v", letters[0],
				letters[1], got, want)
		}
	}
}
