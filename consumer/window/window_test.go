package window

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/test/expect"
)

var begin = time.UnixMilli(1_800_000_000_000)

func options() Options {
	return Options{Wait: time.Second, Bytes: 1 << 20, Forms: &read.Reader{}}
}

// arriving is the record of an arrival with a declared number of edges, 0: none is declared.
func arriving(id string, count int, at time.Duration) kafka.Record {
	a := event.Arrival{ID: id, EdgeCount: count, Features: event.Features{Values: []float32{1}}}
	value, err := json.Codec{}.AppendArrival(nil, &a)
	if err != nil {
		panic(err)
	}
	return kafka.Record{Key: []byte(id), Value: value, Time: begin.Add(at)}
}

// link is the record of an edge.
func link(from, to string, at time.Duration) kafka.Record {
	value, err := json.Codec{}.AppendEdge(nil, &event.Edge{Source: from, Target: to, Weight: 1})
	if err != nil {
		panic(err)
	}
	return kafka.Record{Key: []byte(from), Value: value, Time: begin.Add(at),
		Headers: []event.Header{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}}
}

// forgetting is the record that asks to forget an id.
func forgetting(id string, at time.Duration) kafka.Record {
	return kafka.Record{Key: []byte(id), Time: begin.Add(at)}
}

// log gives records their offsets.
func log(records ...kafka.Record) []kafka.Record {
	for i := range records {
		records[i].Position = kafka.Position{Topic: "t", Offset: int64(10 + i)}
	}
	return records
}

// left describes in words the arrivals and edges that leave: "a@12:x,y" is the arrival at offset 12 with its
// neighbours, "!13" a dead letter.
func left(out Output) (words []string) {
	for _, r := range out.Records {
		var neighbours []string
		for _, e := range out.Joined[r.Position] {
			_, neighbour := e.Ends()
			neighbours = append(neighbours, neighbour)
		}
		words = append(words, fmt.Sprintf("%s@%d:%s", r.Key, r.Position.Offset, strings.Join(neighbours, ",")))
	}
	for _, d := range out.DeadLetters {
		words = append(words, fmt.Sprintf("!%d", d.Source.Offset))
	}
	return words
}

func all(w *Window) (words []string) {
	for out, some := w.Take(); some; out, some = w.Take() {
		words = append(words, left(out)...)
	}
	return words
}

func TestArrivalsLeave(t *testing.T) {
	for name, c := range map[string]struct {
		records []kafka.Record
		options func(*Options)
		want    [][]string // after each record
	}{
		"complete, with an edge before and one after": {records: log(link("a", "x", 0), arriving("a", 2, 1),
			link("b", "y", 2), link("a", "z", 3)), want: [][]string{{}, {}, {}, {"a@11:x,z"}}},
		"at once, with all that it says": {records: log(link("a", "x", 0), arriving("a", 1, 1)),
			want: [][]string{{}, {"a@11:x"}}},
		"late, before the edge that is late": {records: log(arriving("a", 2, 0), link("a", "x", 1),
			link("a", "y", time.Second)), want: [][]string{{}, {}, {"a@10:x"}}},
		"in order": {records: log(arriving("a", 2, 0), arriving("b", 1, 0), link("b", "x", 1), link("a", "x", 2),
			link("a", "y", 3)), want: [][]string{{}, {}, {}, {}, {"a@10:x,y", "b@11:x"}}},
		"superseded by the same id, which has the edges too": {records: log(arriving("a", 2, 0), link("a", "x", 1),
			arriving("a", 2, 2), link("a", "y", 3)), want: [][]string{{}, {}, {"a@10:x"}, {"a@12:x,y"}}},
		"an edge without an arrival": {records: log(link("a", "x", 0), arriving("b", 0, time.Second),
			arriving("c", 0, 3*time.Second)), want: [][]string{{}, {}, {"b@11:", "!10"}}},
		"the same id again, when the first arrival has left": {records: log(arriving("a", 1, 0), link("a", "x", 0),
			link("a", "y", time.Minute), arriving("a", 2, time.Minute), link("a", "z", time.Minute)),
			want: [][]string{{}, {"a@10:x"}, {}, {}, {"a@13:y,z"}}},
		"an edge after its arrival has left": {records: log(arriving("a", 1, 0), link("a", "x", 1), link("a", "y", 2),
			link("b", "y", 2*time.Second)), want: [][]string{{}, {"a@10:x"}, {}, {"!12"}}},
		"crowded": {records: log(arriving("a", 9, 0), link("a", "x", 1), link("a", "y", 2), link("b", "z", 3)),
			options: func(o *Options) { o.Bytes = 3 * (overhead + 94) }, want: [][]string{{}, {}, {}, {"a@10:x,y"}}},
		"no more edges than are taken": {records: log(link("a", "x", 0), link("a", "y", 0), link("a", "z", 0),
			arriving("a", 3, 0)), options: func(o *Options) { o.Limits.Edges = 1 }, want: [][]string{{}, {}, {}, {"a@13:x,y"}}},
		"a record that is none": {records: log(kafka.Record{Key: []byte("k"), Value: []byte("{"), Time: begin}),
			want: [][]string{{"k@10:"}}},
		"a damaged record": {records: log(kafka.Record{Key: []byte("k"), Damage: &kafka.Damage{}, Time: begin}),
			want: [][]string{{"k@10:"}}},
		"an edge that cannot be read": {records: log(kafka.Record{Value: []byte("{"), Time: begin,
			Headers: link("a", "b", 0).Headers}), want: [][]string{{"!10"}}},
		"a time in the far future ends no waits, and waits as the newest one before": {records: log(arriving("a", 2, 0),
			arriving("b", 3, 1e6*time.Hour), link("a", "x", 1), arriving("c", 1, 2), link("b", "y", 3), link("c", "x", 4),
			link("d", "z", time.Second)),
			want: [][]string{{}, {}, {}, {}, {}, {}, {"a@10:x", "b@11:y", "c@13:x"}}},
		"a record without a timestamp waits as the newest one before": {records: log(arriving("a", 2, 0),
			arriving("b", 2, -begin.Sub(time.UnixMilli(-1))), arriving("c", 2, -begin.Sub(time.UnixMilli(0))),
			link("a", "x", 1), link("b", "y", 2), link("c", "z", 3), link("d", "z", time.Second)),
			want: [][]string{{}, {}, {}, {}, {}, {}, {"a@10:x", "b@11:y", "c@12:z"}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			if c.options != nil {
				c.options(&o)
			}
			w := New(o, Progress{})
			for i := range c.records {
				w.Add(&c.records[i])
				if got := all(w); !slices.Equal(got, c.want[i]) {
					t.Errorf("after record %d: %q, want %q", i, got, c.want[i])
				}
			}
		})
	}
}

// An arrival that waits is not given edges that come after its id is to be forgotten, nor is a later arrival given
// those before.
func TestForgetsAmongEdges(t *testing.T) {
	o := options()
	o.Forms = &read.Reader{Forget: true}
	w := New(o, Progress{})
	records := log(link("a", "before", 0), arriving("a", 3, 1), forgetting("a", 2), link("a", "after", 3),
		arriving("a", 2, 4), link("a", "late", 5))
	var got []string
	for i := range records {
		w.Add(&records[i])
		got = append(got, all(w)...)
	}
	expect.Same(t, []string{"a@11:before", "a@12:", "a@14:after,late"}, got, "what leaves")
}

func TestFlushEndsAllWaits(t *testing.T) {
	w := New(options(), Progress{})
	records := log(arriving("a", 2, 0), link("a", "x", 1), link("b", "y", 2))
	for i := range records {
		w.Add(&records[i])
	}
	if got := all(w); got != nil || !w.waits() {
		t.Fatalf("%q", got)
	}
	w.Flush()
	out, some := w.Take()
	if got := left(out); !some || !slices.Equal(got, []string{"a@10:x", "!12"}) {
		t.Errorf("%q", got)
	}
	if (out.Progress != Progress{From: 13, Next: 13, Edges: 13}) || w.waits() {
		t.Errorf("%+v", out.Progress)
	}
	s := w.Stats()
	if s.Left[Idle] != 1 || s.Joined != 1 || s.Unmatched != 1 || s.Arrivals+s.Edges+s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
}

// stream draws a log of arrivals and edges of few ids, some of them late, wrong, of old times or without a count.
func stream(r *rand.Rand, n int) []kafka.Record {
	var records []kafka.Record
	now := time.Duration(0)
	for range n {
		now += time.Duration(r.IntN(60)) * time.Millisecond
		at := now
		switch r.IntN(30) {
		case 0:
			at += 3 * time.Second
		case 1:
			at -= 3 * time.Second
		case 2:
			at += time.Duration(r.IntN(3600)) * time.Second
		case 3:
			at = -begin.Sub(time.UnixMilli(int64(-r.IntN(2))))
		case 4:
			if r.IntN(4) == 0 {
				now += 20 * time.Second // a gap
			}
		}
		id := fmt.Sprintf("n%d", int(now/time.Second)*3+r.IntN(8))
		switch k := r.IntN(20); {
		case k < 5:
			records = append(records, arriving(id, r.IntN(5), at))
		case k == 5:
			records = append(records, kafka.Record{Key: []byte("bad"), Value: []byte("{"), Time: begin.Add(at)})
		default:
			records = append(records, link(id, fmt.Sprintf("x%d", len(records)), at))
		}
	}
	return log(records...)
}

// Whatever has been committed when a consumer dies, the next one goes on as if nothing had happened.
func TestGoesOnAfterACrash(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := options()
		if seed%3 == 0 {
			o.Bytes = 12_000
		}
		o.Forms = &read.Reader{Forget: true}
		records := stream(r, 300)
		for i := range records {
			if r.IntN(40) == 0 {
				position := records[i].Position
				records[i] = forgetting(fmt.Sprintf("n%d", r.IntN(20)), records[i].Time.Sub(begin))
				records[i].Position = position
			}
		}
		type commit struct {
			Progress
			words int
		}
		var want []string
		var commits []commit
		w := New(o, Progress{})
		for i := range records {
			w.Add(&records[i])
			for out, some := w.Take(); some; out, some = w.Take() {
				want = append(want, left(out)...)
				commits = append(commits, commit{out.Progress, len(want)})
			}
		}
		w.Flush()
		want = append(want, all(w)...)
		for _, c := range commits {
			if c.From > min(c.Next, c.Edges) {
				t.Fatalf("seed %d: %+v", seed, c)
			}
			again := New(o, Progress{Next: c.Next, Edges: c.Edges, Time: c.Time})
			for i := range records {
				if records[i].Position.Offset >= c.From {
					again.Add(&records[i])
				}
			}
			again.Flush()
			got, rest := append([]string{}, all(again)...), append([]string{}, want[c.words:]...)
			slices.Sort(got) // arrivals and edges leave in orders of their own
			slices.Sort(rest)
			expect.Same(t, rest, got, "seed %d: from %+v on", seed, c)
		}
	}
}

// Each arrival leaves once and each edge is told once, and a window commits on and on: it needs no more of the log than
// a few waits.
func TestNothingIsLostOrDoubled(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	records := stream(r, 5000)
	w, seen, joined := New(options(), Progress{}), map[string]int{}, 0
	var last Progress
	for i := range records {
		w.Add(&records[i])
		for out, some := w.Take(); some; out, some = w.Take() {
			if out.Progress.Next <= last.Next || out.Progress.From < last.From || out.Progress.Edges < last.Edges {
				t.Fatalf("%+v after %+v", out.Progress, last)
			}
			last = out.Progress
			for _, word := range left(out) {
				name, _, _ := strings.Cut(word, ":")
				seen[name]++
			}
		}
		if lag := records[i].Position.Offset - last.From; lag > 900 {
			t.Fatalf("record %d: %d records would be read again", i, lag)
		}
		joined += w.Stats().Joined
	}
	edges, dead := 0, 0
	for i := range records {
		if len(records[i].Headers) > 0 {
			edges++
		}
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s: %d times", name, n)
		}
		if name[0] == '!' {
			dead++
		}
	}
	if arrivals := len(seen) - dead; arrivals+len(w.arrivals) != len(records)-edges {
		t.Errorf("%d arrivals of %d have left, and %d wait", arrivals, len(records)-edges, len(w.arrivals))
	}
	if told := joined + dead; told < edges-len(w.edges) || joined == 0 || dead == 0 {
		t.Errorf("of %d edges %d are joined, %d dead letters, and %d wait", edges, joined, dead, len(w.edges))
	}
}

// A flood of records that wait for ever takes as much memory as the window may hold, and no more.
func TestFloodIsBounded(t *testing.T) {
	for name, record := range map[string]func(i int) kafka.Record{
		"edges of one id": func(int) kafka.Record { return link("a", "x", 0) },
		"edges of many ids, in the far future": func(i int) kafka.Record {
			return link(fmt.Sprint("n", i), "x", time.Duration(i)*time.Hour)
		},
		"arrivals of many ids": func(i int) kafka.Record { return arriving(fmt.Sprint("n", i), 5, 0) },
		"arrivals and edges of one id": func(i int) kafka.Record {
			if i%2 == 0 {
				return arriving("a", 1<<30, 0)
			}
			return link("a", "x", 0)
		},
		"arrivals with all their edges": func(i int) kafka.Record {
			if i%20 == 0 {
				return arriving(fmt.Sprint("n", i/20), 19, 0)
			}
			return link(fmt.Sprint("n", i/20), "x", 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			const chunk = 5000 // records of a fetch
			o := options()
			o.Limits.Edges, o.Wait, o.DropUnmatched = 10, 1000*time.Hour, true
			w, peak := New(o, Progress{}), 0
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := heap()
			for i := range 100_000 {
				r := record(i)
				r.Position.Offset = int64(i)
				w.Add(&r)
				if i%chunk == chunk-1 {
					for _, some := w.Take(); some; _, some = w.Take() {
					}
				}
				peak = max(peak, len(w.entries))
			}
			if s := w.Stats(); s.Bytes > o.Bytes || s.Arrivals+s.Edges > o.Bytes/overhead {
				t.Errorf("%+v", s)
			}
			if after := heap(); peak > 3*o.Bytes/overhead+chunk || after > before+16<<20 {
				t.Errorf("%d entries, %d bytes more", peak, after-before)
			}
			runtime.KeepAlive(w)
		})
	}
}

// The dead letter of an edge that no arrival took names the node that it waited for.
func TestUnmatchedEdgesNameTheirNode(t *testing.T) {
	w := New(options(), Progress{})
	records := log(link("a", "x", 0), link("b", "y", time.Hour), link("b", "z", time.Hour))
	for i := range records {
		w.Add(&records[i])
	}
	out, _ := w.Take()
	if len(out.DeadLetters) != 1 || !strings.Contains(out.DeadLetters[0].Detail, "of the id a waited") {
		t.Errorf("%+v", out.DeadLetters)
	}
}
