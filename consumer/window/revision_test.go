package window

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"rivulet/event/form"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// updating are options with which arrivals are kept for an hour, and revisions settle for ten seconds.
func updating() Options {
	o := options()
	o.Update, o.Age, o.Settle = UpdatePredict, time.Hour, 10*time.Second
	o.Forms = &form.Reader{Forget: true}
	return o
}

// forgetting is the record that asks to forget an id.
func forgetting(id string, at time.Duration) kafka.Record {
	return kafka.Record{Key: []byte(id), Time: begin.Add(at)}
}

func TestRevisionsLeave(t *testing.T) {
	const s, m = time.Second, time.Minute
	for name, c := range map[string]struct {
		records []kafka.Record
		options func(*Options)
		want    [][]string // after each record
	}{
		"settled, with all edges that came by then": {records: log(arriving("a", 1, 0), link("a", "x", 0), link("a", "y", m),
			link("a", "z", m+5*s), link("b", "v", m+10*s), link("a", "u", 2*m), link("b", "w", 3*m)),
			want: [][]string{{}, {"a@10:x"}, {}, {}, {"a@10#2:x,y,z"}, {"!14"}, {"a@10#3:x,y,z,u"}}},
		"at once, where nothing has to settle": {records: log(arriving("a", 1, 0), link("a", "x", 0), link("a", "y", 1),
			link("a", "z", 1)), options: func(o *Options) { o.Settle = 0 },
			want: [][]string{{}, {"a@10:x"}, {"a@10#2:x,y"}, {"a@10#3:x,y,z"}}},
		"behind arrivals that wait": {records: log(arriving("a", 1, 0), link("a", "x", 0), arriving("b", 1, m),
			link("a", "y", m), link("b", "z", m)), options: func(o *Options) { o.Settle = 0 },
			want: [][]string{{}, {"a@10:x"}, {}, {}, {"b@12:z", "a@10#2:x,y"}}},
		"an edge for an arrival that is too old": {records: log(arriving("a", 1, 0), link("a", "x", 0),
			link("b", "v", 2*time.Hour),
			link("a", "y", 2*time.Hour), link("c", "v", 3*time.Hour)),
			want: [][]string{{}, {"a@10:x"}, {}, {}, {"!12", "!13"}}},
		"of an arrival that grows old": {records: log(arriving("a", 1, 0), link("a", "x", 0), link("a", "y", time.Hour-s),
			arriving("c", 1, time.Hour), link("c", "z", time.Hour)),
			want: [][]string{{}, {"a@10:x"}, {}, {}, {"c@13:z", "a@10#2:x,y"}}},
		"not where the id comes again": {records: log(arriving("a", 1, 0), link("a", "x", 0), link("a", "y", m),
			arriving("a", 1, m), link("a", "z", 3*m), link("b", "v", 4*m)),
			want: [][]string{{}, {"a@10:x"}, {}, {"a@13:y"}, {}, {"a@13#2:y,z"}}},
		"not where the id is to be forgotten": {records: log(arriving("a", 1, 0), link("a", "x", 0), link("a", "y", m),
			forgetting("a", m), link("a", "z", m), link("b", "u", 3*m)),
			want: [][]string{{}, {"a@10:x"}, {}, {"a@13:"}, {}, {"!14"}}},
		"not where the record that settles it asks to forget it": {records: log(arriving("a", 1, 0), link("a", "x", 0),
			link("a", "y", m), forgetting("a", 2*m)), want: [][]string{{}, {"a@10:x"}, {}, {"a@13:"}}},
		"not where it grows old with the record that asks to forget it": {records: log(arriving("a", 1, 0),
			link("a", "x", 0), link("a", "y", time.Hour-s), forgetting("a", time.Hour)),
			want: [][]string{{}, {"a@10:x"}, {}, {"a@13:"}}},
		"not where it grows old with a new arrival of the id": {records: log(arriving("a", 1, 0), link("a", "x", 0),
			link("a", "y", time.Hour-s), arriving("a", 1, time.Hour), link("a", "z", time.Hour)),
			want: [][]string{{}, {"a@10:x"}, {}, {}, {"a@13:z"}}},
		"one, where too many edges come": {records: log(arriving("a", 1, 0), link("a", "x", 0), link("a", "y", m),
			link("a", "z", m)), options: func(o *Options) { o.Settle, o.Limits.Edges = 0, 1 },
			want: [][]string{{}, {"a@10:x"}, {}, {}}},
		"once in a settle time, also where edges have old timestamps": {records: log(arriving("a", 1, 0), link("a", "x", 0),
			link("a", "y", m), link("b", "v", m+10*s), link("a", "z", 2), link("b", "v", m+19*s), link("b", "v", m+20*s)),
			want: [][]string{{}, {"a@10:x"}, {}, {"a@10#2:x,y"}, {}, {"!13"}, {"a@10#3:x,y,z", "!15"}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := updating()
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
	for _, update := range []Update{UpdateOff, UpdateRow} {
		o := updating()
		o.Update = update
		w := New(o, Progress{})
		records := log(link("a", "before", 0), arriving("a", 3, 1), forgetting("a", 2), link("a", "after", 3),
			arriving("a", 2, 4), link("a", "late", 5))
		var got []string
		for i := range records {
			w.Add(&records[i])
			got = append(got, all(w)...)
		}
		expect.Same(t, []string{"a@11:before", "a@12:", "a@14:after,late"}, got, "update %s", update)
	}
}

// Whatever has been committed when a consumer dies, and wherever the partition was idle, the next consumer goes on as
// if nothing had happened: no revision is lost or doubled, and its number and edges are the same.
func TestRevisionsGoOnAfterACrash(t *testing.T) {
	revisions := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		o := updating()
		o.Age, o.Settle = 20*time.Second, time.Duration(seed%4)*time.Second/2
		if seed%3 == 0 {
			o.Bytes = 20_000
		}
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
			read  int
			idle  bool // the window has been flushed since the last record
		}
		var want []string
		var commits []commit
		w := New(o, Progress{})
		take := func(read int, idle bool) {
			for out, some := w.Take(); some; out, some = w.Take() {
				want = append(want, left(out)...)
				commits = append(commits, commit{out.Progress, len(want), read, idle})
			}
		}
		idle := map[int]bool{} // by the last record: revisions have settled, too
		for i := range records {
			w.Add(&records[i])
			take(i+1, false)
			if settle := r.IntN(2) == 0; r.IntN(8) == 0 && (w.waits() || settle && w.settling > 0) {
				idle[i] = settle
				w.Flush(settle)
				take(i+1, true)
			}
		}
		w.Flush(true)
		want = append(want, all(w)...)
		for _, word := range want {
			if slices.Contains([]byte(word), '#') {
				revisions++
			}
		}
		for _, c := range commits {
			if r.IntN(3) > 0 {
				continue
			}
			again := New(o, Progress{Next: c.Next, Edges: c.Edges, Idle: c.Idle})
			got := []string{}
			for i := range records {
				if records[i].Position.Offset < c.From {
					continue
				}
				again.Add(&records[i])
				if i == c.read-1 {
					again.Advance(records[i].Position.Offset + 1)
				}
				got = append(got, all(again)...)
				if settle, is := idle[i]; is && (i >= c.read || i == c.read-1 && !c.idle) {
					again.Flush(settle)
					got = append(got, all(again)...)
				}
			}
			again.Flush(true)
			got = append(got, all(again)...)
			rest := append([]string{}, want[c.words:]...)
			slices.Sort(got)
			slices.Sort(rest)
			expect.Same(t, rest, got, "seed %d: from %+v on", seed, c)
		}
	}
	if revisions < 500 {
		t.Errorf("%d revisions in all streams", revisions)
	}
}

// The offsets at which a partition was idle are bounded, as a broker takes no more beside an offset.
func TestIdleOffsetsAreBounded(t *testing.T) {
	w, longest := New(updating(), Progress{}), 0
	for i := range 2000 {
		r := arriving(fmt.Sprint("n", i), 2, 0)
		r.Position.Offset = int64(1_000_000_000 * i)
		w.Add(&r)
		w.Flush(true)
		for out, some := w.Take(); some; out, some = w.Take() {
			longest = max(longest, len(out.Progress.Idle))
			if got := idleMarks(out.Progress.Idle); !slices.IsSorted(got) || len(got) > mostIdle+1 ||
				len(got) > 0 && (got[0]/2 <= out.Progress.From || got[len(got)-1] != 2*w.next+1) {
				t.Fatalf("%+v", out.Progress)
			}
		}
	}
	if longest > 3500 || w.Stats().Kept > mostIdle+1 {
		t.Errorf("%d bytes, %+v", longest, w.Stats())
	}
}

// A flood of arrivals that are kept, and of edges that come late, takes as much memory as the window may hold.
func TestFloodOfLateEdgesIsBounded(t *testing.T) {
	o := updating()
	o.Age, o.Limits.Edges = 1000*time.Hour, 10
	w, peak := New(o, Progress{}), 0
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 100_000 {
		r := arriving(fmt.Sprint("n", i/2), 0, time.Duration(i)*time.Second)
		if i%2 == 1 {
			r = link(fmt.Sprint("n", i/2-i%50), "x", time.Duration(i)*time.Second)
		}
		r.Position.Offset = int64(i)
		w.Add(&r)
		for _, some := w.Take(); some; _, some = w.Take() {
		}
		peak = max(peak, len(w.entries))
	}
	s := w.Stats()
	if s.Bytes > o.Bytes || s.Kept == 0 || s.Kept > o.Bytes/overhead || s.Revisions < 10_000 || s.Released[crowded] == 0 {
		t.Errorf("%+v", s)
	}
	if after := heap(); peak > 3*o.Bytes/overhead || after > before+16<<20 {
		t.Errorf("%d entries, %d bytes more", peak, after-before)
	}
	runtime.KeepAlive(w)
}
