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

	"rivulet/consumer/ticket"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/infer/growth"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// forgets removes rows from what growing versions share.
type forgets struct {
	version *growingVersion
	fails   error // while not nil
	by      growth.Fence
}

func (f *forgets) Forget(_ context.Context, ids []growth.Forget, by growth.Fence) (n int, err error) {
	f.version.mu.Lock()
	defer f.version.mu.Unlock()
	if f.by = by; f.fails != nil && !by.Confirmed {
		return 0, f.fails
	}
	for _, id := range ids {
		if row, there := f.version.store[id.ID]; there && !(id.Later && row.Record == id.Except) {
			delete(f.version.store, id.ID)
			n++
		}
	}
	return n, nil
}

// forgetting returns a path that forgets, of one version.
func forgetting(t testing.TB, v *growingVersion, out Deliverer, mode Mode) (*Pipeline, *forgets) {
	f := &forgets{version: v}
	return pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: mode, Arrivals: true, Forget: f,
		Tombstones: true, Forms: form.Reader{Forget: true}}), f
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

// Within a batch an id is forgotten where its record stands: before it the arrival is a neighbour, after it it is
// unknown; the last arrival alone has a row; tombstones stand among the predictions.
func TestForgettingWithinABatch(t *testing.T) {
	for _, mode := range []Mode{Node, Graph} {
		v, out := newGrowingVersion(map[string]growth.ArrivalRow{}), &kept{}
		p, f := forgetting(t, v, out, mode)
		process := func(texts ...string) event.Batch {
			t.Helper()
			expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: events(t, texts...)}))
			return out.batches[len(out.batches)-1]
		}
		process("x t0", "z t1")
		old := v.store["x"].Record
		b := process("before x", "-x", "after x z", "-x", "x t2", "y t0", "-y", "-nobody")
		var got []string
		for _, pr := range b.Predictions {
			got = append(got, fmt.Sprintf("%s %d %d %d", pr.ID, pr.Arrivals, pr.InBatch, pr.Unknown))
		}
		// In a graph batch x is an arrival of the batch, which both meet there.
		want := []string{"before 1 0 0", "after 1 0 1", "x 0 0 0", "y 0 0 0"}
		if mode == Graph {
			want = []string{"before 0 1 0", "after 1 1 0", "x 0 2 0", "y 0 0 0"}
		}
		expect.Same(t, want, got, "%s", mode)
		tombstones := []event.Tombstone{{Key: []byte("x"), Before: 1}, {Key: []byte("x"), Before: 2},
			{Key: []byte("y"), Before: 4}, {Key: []byte("nobody"), Before: 4}}
		expect.Same(t, tombstones, b.Tombstones, "%s: tombstones", mode)
		_, y := v.store["y"]
		if row, x := v.store["x"]; !x || row.Record == old || y || len(b.DeadLetters) > 0 {
			t.Errorf("%s: x has a row: %t, the old one: %t; y has one: %t; %d dead letters", mode, x, row.Record == old, y,
				len(b.DeadLetters))
		}
		if f.by.Places != nil {
			t.Errorf("%s: writes of records of no group are fenced by %+v", mode, f.by)
		}
	}
}

// Whatever the stream, however it is cut into batches that are under way at once, and wherever it is killed and read
// again: in the end the first arrival of an id after it was last forgotten has the row, and nobody else.
func TestForgettingInAnyStream(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ids := rapid.SampledFrom([]string{"u", "v", "w", "x"})
		var texts []string
		for range rapid.IntRange(1, 14).Draw(rt, "records") {
			text := ids.Draw(rt, "id")
			if rapid.IntRange(0, 2).Draw(rt, "forgets") == 0 {
				text = "-" + text
			} else {
				text += " t0 " + ids.Draw(rt, "neighbour")
			}
			texts = append(texts, text)
		}
		all := events(t, texts...)
		want := map[string]uint64{}
		var m earlier
		for k, text := range texts {
			id, asks := strings.CutPrefix(text, "-")
			id, _, _ = strings.Cut(id, " ")
			if _, there := want[id]; asks {
				delete(want, id)
			} else if !there {
				want[id] = m.fingerprint(&slot{record: &all[k]})
			}
		}
		v := newGrowingVersion(map[string]growth.ArrivalRow{})
		for lives := rapid.IntRange(0, 2).Draw(rt, "deaths"); lives >= 0; lives-- {
			out := &kept{}
			if lives > 0 { // nothing is committed, and all is read again
				out.refused = errors.New("killed")
			}
			var before *ticket.Ticket
			var wait sync.WaitGroup
			for rest := all; len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(rt, "records of a batch")
				p, _ := forgetting(t, v, out, Node)
				in := Intake{Name: "b", Records: rest[:n], After: before, Ticket: ticket.New()}
				before, rest = in.Ticket, rest[n:]
				wait.Go(func() { in.Ticket.Settle(p.Process(t.Context(), in)) })
			}
			wait.Wait()
		}
		got := map[string]uint64{}
		for id, row := range v.store {
			got[id] = row.Record
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%q: rows (-want +got):\n%s", texts, diff)
		}
	})
}

// A removal that fails is tried again before anything is committed; a consumer that was overtaken gives up, unless the
// coordinator knows of no later generation.
func TestForgettingIsFenced(t *testing.T) {
	v, out := newGrowingVersion(map[string]growth.ArrivalRow{}), &kept{}
	v.notes = newNotebook()
	p, f := forgetting(t, v, out, Node)
	in := Intake{Name: "b", Records: events(t, "-x", "y x"), Generation: nobody,
		Offsets: kafka.Offsets{{Topic: "arrivals", Partition: 3}: 9, {Topic: "arrivals"}: 2}}
	f.fails = errors.New("connection refused")
	if err := p.Process(t.Context(), in); !errors.Is(err, f.fails) || out.committed > 0 || len(v.store) > 0 {
		t.Errorf("%d batches are committed, rows %v: %v", out.committed, v.store, err)
	}
	f.fails = growth.ErrOvertaken
	in.Generation = over{nobody}
	if err := p.Process(t.Context(), in); !errors.Is(err, retry.ErrGeneration) || out.committed > 0 {
		t.Errorf("%d batches of an overtaken consumer are committed: %v", out.committed, err)
	}
	in.Generation = nobody
	if err := p.Process(t.Context(), in); err != nil || out.committed != 1 || len(v.store) != 1 {
		t.Errorf("%d batches are committed, rows %v: %v", out.committed, v.store, err)
	}
	want := growth.Fence{Places: []string{"g:arrivals:0", "g:arrivals:3"}, Generation: nobody.Member().Generation,
		Confirmed: true}
	expect.Same(t, want, f.by, "fence")
}

// Where forgetting is off, deletes and tombstones are passed over.
func TestForgettingIsOff(t *testing.T) {
	v, out, stats := newGrowingVersion(map[string]growth.ArrivalRow{}), &kept{}, &counted{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: Node, Arrivals: true, Observer: stats})
	expect.OK(t, p.Process(t.Context(), Intake{Records: events(t, "x t0", "-x")}))
	if s := stats.last; len(v.store) != 1 || len(out.batches[0].Tombstones) > 0 || s.Forgets > 0 || len(s.Skipped) != 1 {
		t.Errorf("rows %v, %d tombstones, stats %+v", v.store, len(out.batches[0].Tombstones), s)
	}
	p, _ = forgetting(t, v, out, Node)
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
