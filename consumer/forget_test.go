package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// forgets removes rows of a growing version.
type forgets struct {
	version *growingVersion
	fails   error // while not nil
}

func (f *forgets) Forget(_ context.Context, ids []string) (n int, err error) {
	f.version.mu.Lock()
	defer f.version.mu.Unlock()
	if f.fails != nil {
		return 0, f.fails
	}
	for _, id := range ids {
		if _, there := f.version.store[id]; there {
			delete(f.version.store, id)
			n++
		}
	}
	return n, nil
}

// forgetting returns a path that forgets, of one version.
func forgetting(t testing.TB, v *growingVersion, out Deliverer, mode *attach.Mode) (*Pipeline, *forgets) {
	f := &forgets{version: v}
	return pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: mode, Arrivals: true, Forget: f,
		Forms: read.Reader{Forget: true}}), f
}

// events are arrivals "x a b" with their neighbours, and ids to forget "-x", as records of one partition.
func events(t testing.TB, texts ...string) []kafka.Record {
	t.Helper()
	var all []kafka.Record
	for k, text := range texts {
		id, asks := strings.CutPrefix(text, "-")
		words := strings.Fields(id)
		r := kafka.Record{Key: []byte(id)}
		if !asks {
			r = records(t, arrival(words[0], words[1:]...))[0]
		}
		r.Position = kafka.Position{Topic: "arrivals", Offset: int64(k)}
		all = append(all, r)
	}
	return all
}

// rowOf is the row of an arrival that is predicted alone.
func rowOf(t testing.TB, text string) attach.Row {
	t.Helper()
	v := newGrowingVersion()
	p, _ := forgetting(t, v, &kept{}, attach.Node)
	expect.OK(t, p.Process(t.Context(), Intake{Records: events(t, text)}))
	return v.store[strings.Fields(text)[0]]
}

// The last record of an id decides, in one batch and in two: an arrival has its row, a forgotten id none. The store may
// be down for a while at every write.
func TestTheLastRecordDecides(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  string // the arrival that has the row
	}{
		{[]string{"-x", "x t0"}, "x t0"},
		{[]string{"x t0", "-x"}, ""},
		{[]string{"x t0", "-x", "x t2"}, "x t2"},
		{[]string{"-x", "x t0", "-x"}, ""},
		{[]string{"x t0", "x t2"}, "x t2"},
		{[]string{"-x", "x t0", "x t2"}, "x t2"},
	} {
		for cut := range len(c.texts) { // 0: one batch
			for _, mode := range []*attach.Mode{attach.Node, attach.Graph} {
				for _, before := range []bool{false, true} {
					v, out := newGrowingVersion(), &kept{}
					if before {
						v.store["x"] = attach.Row{Known: true, Arrived: true, Cols: []int32{0}, Vals: []float32{9}}
					}
					p, f := forgetting(t, v, out, mode)
					all, down := events(t, c.texts...), errors.New("connection refused")
					for _, some := range [][]kafka.Record{all[:cut], all[cut:]} {
						if len(some) == 0 {
							continue
						}
						tries := 0
						f.fails, v.full = down, down
						p.keeping = retry.Patience{Observer: NopObserver{}, Clock: instant{&tries, func() {
							if f.fails = nil; tries%2 == 0 {
								v.full = nil
							}
						}}}.Outage(StageRows).Attempts()
						expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: some}))
						f.fails, v.full = nil, nil
					}
					want := map[string]attach.Row{}
					if c.want != "" {
						want["x"] = rowOf(t, c.want)
					}
					expect.Same(t, want, v.store, "%q, cut at %d, %s, with a row before: %t", c.texts, cut, mode, before)
					if n := len(out.batches[0].DeadLetters); n > 0 {
						t.Errorf("%q: %d dead letters", c.texts, n)
					}
				}
			}
		}
	}
}

// An arrival that gets no row leaves nothing of an id that was forgotten before it, or the row that the id has.
func TestTheLastRecordGetsNoRow(t *testing.T) {
	for _, c := range []struct {
		texts []string
		known bool
	}{{[]string{"-x", "x gone"}, false}, {[]string{"x t0", "-x", "x gone"}, false}, {[]string{"x t2", "x gone"}, true}} {
		v := newGrowingVersion()
		v.rows["gone"] = attach.Row{Unread: true}
		p, _ := forgetting(t, v, &kept{}, attach.Node)
		expect.OK(t, p.Process(t.Context(), Intake{Records: events(t, "x t0")}))
		old := v.store["x"]
		expect.OK(t, p.Process(t.Context(), Intake{Records: events(t, c.texts...)}))
		if row, known := v.store["x"]; known != c.known || known && !cmp.Equal(old, row) {
			t.Errorf("%q: row %+v", c.texts, row)
		}
	}
}

// Whatever the stream of a partition, however it is cut into batches that are under way at once, and wherever it is
// killed and read again: in the end an id has the row of its last arrival, unless it was forgotten after that.
func TestForgettingInAnyStream(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.SampledFrom([]string{"u", "v", "w", "x"})
		var texts []string
		want := map[string]attach.Row{}
		for range rapid.IntRange(1, 14).Draw(rt, "records") {
			id := ids.Draw(rt, "id")
			if rapid.IntRange(0, 2).Draw(rt, "forgets") == 0 {
				texts = append(texts, "-"+id)
				delete(want, id)
				continue
			}
			text := id + " " + rapid.SampledFrom([]string{"t0", "t1", "t2"}).Draw(rt, "neighbour")
			texts, want[id] = append(texts, text), rowOf(t, text)
		}
		all := events(t, texts...)
		v := newGrowingVersion()
		for lives := rapid.IntRange(0, 2).Draw(rt, "deaths"); lives >= 0; lives-- {
			out := &kept{}
			if lives > 0 { // nothing is committed, and all is read again
				out.refused = errors.New("killed")
			}
			g := ordered(t.Context(), nil, out)
			var wait sync.WaitGroup
			for rest := all; len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(rt, "records of a batch")
				p, _ := forgetting(t, v, out, attach.Node)
				in, turn := Intake{Name: "b", Records: rest[:n]}, g.take(nil)
				rest = rest[n:]
				wait.Go(func() { _ = g.finishing(t.Context(), p, in, turn) })
			}
			wait.Wait()
			_ = g.end() // killed, or nil
		}
		if diff := cmp.Diff(want, v.store); diff != "" {
			rt.Fatalf("%q: rows (-want +got):\n%s", texts, diff)
		}
	})
}

// Arrivals behind a forget record in its batch were looked up before, and may still have the id as a neighbour. Those
// of the next batch have not.
func TestNeighboursWhileAnIDIsForgotten(t *testing.T) {
	v, out := newGrowingVersion(), &kept{}
	p, _ := forgetting(t, v, out, attach.Node)
	for _, texts := range [][]string{{"x t0"}, {"a x", "-x", "b x"}, {"c x"}} {
		expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: events(t, texts...)}))
	}
	var got []string
	for _, b := range out.batches[1:] {
		for _, pr := range b.Predictions {
			got = append(got, fmt.Sprint(pr.ID, pr.Arrivals, pr.Unknown))
		}
	}
	expect.Same(t, []string{"a1 0", "b1 0", "c0 1"}, got, "neighbours that are arrivals, and unknown ones")
}

// G8: Nothing is committed, nor published behind it, before a removal has succeeded.
func TestForgettingIsDoneBeforeTheCommit(t *testing.T) {
	v, out := newGrowingVersion(), &kept{}
	p, f := forgetting(t, v, out, attach.Node)
	in := Intake{Name: "b", Records: events(t, "-x", "y t0")}
	f.fails = errors.New("connection refused")
	g := ordered(t.Context(), nil, out)
	err := g.process(t.Context(), p, in)
	next := Intake{Name: "c", Records: events(t, "x t0")}
	if err := g.process(t.Context(), p, next); !errors.Is(err, errBefore) || len(out.batches) != 1 {
		t.Errorf("%d batches are published: %v", len(out.batches), err)
	}
	expect.OK(t, g.end())
	if !errors.Is(err, f.fails) || out.committed > 0 || out.aborted != 1 || len(v.store) > 0 {
		t.Errorf("%d batches are committed, rows %v: %v", out.committed, v.store, err)
	}
}

// Where forgetting is off, deletes and tombstones are passed over.
func TestForgettingIsOff(t *testing.T) {
	v, out, stats := newGrowingVersion(), &kept{}, &counted{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: attach.Node, Arrivals: true, Observer: stats})
	expect.OK(t, p.Process(t.Context(), Intake{Records: events(t, "x t0", "-x")}))
	if s := stats.last; len(v.store) != 1 || s.Forgets > 0 || len(s.Skipped) != 1 {
		t.Errorf("rows %v, stats %+v", v.store, s)
	}
	p, _ = forgetting(t, v, out, attach.Node)
	p.Observer = stats
	expect.OK(t, p.Process(t.Context(), Intake{Records: events(t, "-x", "-nobody")}))
	if s := stats.last; s.Forgets != 2 || s.Forgotten != 1 || len(s.Skipped) > 0 {
		t.Errorf("stats %+v", s)
	}
}

// counted keeps the figures of the last batch.
type counted struct {
	NopObserver
	last BatchStats
}

func (c *counted) Batch(s BatchStats) { c.last = s }
