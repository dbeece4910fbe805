package consumer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// manyNeighbours adds nodes k0 … k39 to T, whose rows add up to other bits in another order.
func manyNeighbours(v *growingVersion) {
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 40 {
		v.rows[fmt.Sprint("k", k)] = attach.Row{Known: true, Cols: []int32{0, 1, 2},
			Vals: []float32{r.Float32(), r.Float32() * 1e-3, r.Float32() * 1e3}}
	}
}

// edgeRecord is an edge of its own, under its arrival's key.
func edgeRecord(t testing.TB, from, to string, at time.Time) kafka.Record {
	t.Helper()
	value, err := json.Codec{}.AppendEdge(nil, &event.Edge{Source: from, Target: to, Weight: 1})
	expect.OK(t, err)
	return kafka.Record{Key: []byte(from), Value: value, Time: at,
		Headers: []event.Header{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}}
}

func nodeRecord(t testing.TB, a event.Arrival, at time.Time) kafka.Record {
	t.Helper()
	value, err := json.Codec{}.AppendArrival(nil, &a)
	expect.OK(t, err)
	return kafka.Record{Key: []byte(a.ID), Value: value, Time: at}
}

// waiting are the options of a consumer whose arrivals wait for an hour of the log, with the predictions' logits.
func (s *stack) waiting(exactly bool, v *growingVersion, seen *recorder) Options {
	o := s.options(seen)
	if exactly {
		o = s.exactlyOnce(seen)
	}
	o.Window.Wait, o.Window.Ahead = time.Hour, 1000*time.Hour // one record after a pause ends the waits before it
	o.Path.Versions, o.Path.Arrivals, o.Path.Output.Logits = serve(v), true, true
	return o
}

// predictions are those that a reader of committed records sees.
func (s *stack) predictions() (all []event.Prediction) {
	s.t.Helper()
	for _, r := range s.published(predictionsTopic) {
		var p event.Prediction
		if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// eachDelivery runs a test for both deliveries and for one partition and four.
func eachDelivery(t *testing.T, test func(t *testing.T, partitions int, exactly bool)) {
	for _, partitions := range []int{1, 4} {
		for name, exactly := range map[string]bool{"at least once": false, "exactly once": true} {
			t.Run(fmt.Sprintf("%s, %d partitions", name, partitions), func(t *testing.T) {
				t.Parallel()
				test(t, partitions, exactly)
			})
		}
	}
}

// The same stream as arrivals with all edges, and as nodes and edges apart in 20 random orders within the wait: the
// same predictions bit for bit, and the same rows. Arrivals that bring sorted edges have these bits without a wait,
// too.
func TestEdgesApartGiveTheSameBits(t *testing.T) {
	const nodes, orders = 25, 20
	eachDelivery(t, func(t *testing.T, partitions int, exactly bool) {
		s, v, seen := newStack(t, partitions), newGrowingVersion(), &recorder{}
		manyNeighbours(v)
		r := rand.New(rand.NewPCG(uint64(partitions), 3))
		edges := make([][]string, nodes)
		for i := range edges {
			for range 2 + r.IntN(20) {
				edges[i] = append(edges[i], fmt.Sprint("k", r.IntN(50))) // some are unknown, some come twice
			}
		}
		begin := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
		var sorted, whole, apart []kafka.Record
		for i := range edges {
			a := arrival(fmt.Sprintf("whole-n%d", i), edges[i]...)
			a.EdgeCount = len(a.Edges)
			whole = append(whole, nodeRecord(t, a, begin))
			a.ID, a.Edges = fmt.Sprintf("sorted-n%d", i), slices.Sorted(slices.Values(a.Edges))
			sorted = append(sorted, nodeRecord(t, a, begin))
		}
		for order := range orders {
			var some []kafka.Record
			for i := range edges {
				id, own := fmt.Sprintf("%d-n%d", order, i), r.IntN(len(edges[i]))
				a := arrival(id, edges[i][:own]...)
				a.EdgeCount = len(edges[i])
				some = append(some, nodeRecord(t, a, begin.Add(time.Duration(r.IntN(1000))*time.Second)))
				for _, to := range edges[i][own:] {
					some = append(some, edgeRecord(t, id, to, begin.Add(time.Duration(r.IntN(1000))*time.Second)))
				}
			}
			r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			apart = append(apart, some...)
		}
		o := s.waiting(exactly, v, seen)
		for k, records := range [][]kafka.Record{sorted, append(whole, apart...)} {
			o.Window.Wait = time.Duration(k) * time.Hour
			expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, records))
			want := []int{nodes, (2 + orders) * nodes}[k]
			stop := s.start(o)
			s.wait("all are predicted", func() bool {
				seen.mu.Lock()
				defer seen.mu.Unlock()
				return seen.deliveries >= want
			})
			expect.OK(t, stop())
		}
		byNode := map[string][]event.Prediction{}
		for _, p := range s.predictions() {
			_, node, _ := strings.Cut(p.ID, "-")
			byNode[node] = append(byNode[node], p)
		}
		same := cmpopts.IgnoreFields(event.Prediction{}, "ID", "Key", "Source", "IngestTime", "PredictedTime", "Batch")
		for node, all := range byNode {
			if len(all) != orders+2 {
				t.Errorf("%s: %d predictions", node, len(all))
			}
			for _, p := range all {
				if diff := cmp.Diff(all[0], p, same); diff != "" {
					t.Fatalf("%s and %s (-one +other):\n%s", all[0].ID, p.ID, diff)
				}
				if diff := cmp.Diff(v.store[all[0].ID], v.store[p.ID]); diff != "" || !v.store[p.ID].Known {
					t.Fatalf("rows of %s and %s (-one +other):\n%s", all[0].ID, p.ID, diff)
				}
			}
		}
		if w := seen.windows; len(byNode) != nodes || w.Left[window.Complete] != (1+orders)*nodes || w.Unmatched != 0 ||
			len(s.published(lettersTopic)) != 0 {
			t.Errorf("%d nodes; the windows: %+v", len(byNode), w)
		}
	})
}

// dying is a Deliverer some of whose deliveries fail like a consumer's that is killed: before it has published
// anything, or between publication and commit.
type dying struct {
	Deliverer
	n    *atomic.Int64
	most int64
}

func (d dying) Publish(ctx context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error) {
	n := d.n.Add(1)
	if n%3 == 1 && n < d.most {
		return nil, fmt.Errorf("%w: killed", retry.ErrGeneration)
	}
	refused, err := d.Deliverer.Publish(ctx, b, next)
	if err == nil && n%3 == 2 && n < d.most {
		return nil, fmt.Errorf("%w: killed", retry.ErrGeneration)
	}
	return refused, err
}

// A consumer that dies while arrivals wait loses nothing: all are predicted with the bits and edges of a consumer that
// does not die, and exactly once each is predicted, and each edge told, once.
func TestKilledWhileArrivalsWait(t *testing.T) {
	eachDelivery(t, func(t *testing.T, partitions int, exactly bool) {
		r := rand.New(rand.NewPCG(uint64(partitions), 5))
		begin := time.Now().Add(-100 * time.Hour).Truncate(time.Millisecond)
		var parts [][]kafka.Record
		for part := range 8 {
			var records []kafka.Record
			for k := range 60 {
				at := begin.Add(time.Duration(part*60+k) * 20 * time.Second)
				id := fmt.Sprint("n", part*10+r.IntN(20))
				if r.IntN(4) == 0 {
					a := arrival(id, "t0")
					a.EdgeCount = r.IntN(6)
					records = append(records, nodeRecord(t, a, at))
				} else {
					records = append(records, edgeRecord(t, id, fmt.Sprint("k", r.IntN(50)), at))
				}
			}
			parts = append(parts, records)
		}
		var last []kafka.Record // of each partition: it ends all waits
		for k := range 40 {
			last = append(last, nodeRecord(t, arrival(fmt.Sprint("last", k)), begin.Add(90*time.Hour)),
				nodeRecord(t, arrival(fmt.Sprint("last", k)), begin.Add(99*time.Hour)))
		}
		parts = append(parts, last)
		// Each output by its place; "" where there is none.
		run := func(kill int64) (outputs map[event.Source][]string) {
			s, v, seen := newStack(t, partitions), newGrowingVersion(), &recorder{}
			manyNeighbours(v)
			o := s.waiting(exactly, v, seen)
			o.Path.Arrivals = false
			o.Path.Deliverer = dying{o.Path.Deliverer, new(atomic.Int64), kill}
			stop := s.start(o)
			total := 0
			for _, records := range parts {
				expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, records))
				total += len(records)
				if kill > 0 { // and ends, and begins again
					expect.OK(t, stop())
					stop = s.start(o)
				}
			}
			s.wait("the second of the last records waits in each partition, and nothing before it", func() bool {
				return s.committed() == int64(total-len(last)+partitions)
			})
			expect.OK(t, stop())
			outputs = map[event.Source][]string{}
			for _, p := range s.predictions() {
				outputs[p.Source] = append(outputs[p.Source], fmt.Sprint(p.ID, p.Logits, p.Known, p.Unknown))
			}
			for _, l := range s.published(lettersTopic) {
				d, _, _ := event.ReadDeadLetter(l.Key, l.Value, l.Headers)
				outputs[d.Source] = append(outputs[d.Source], d.Reason)
			}
			return outputs
		}
		want, got := run(0), run(6)
		for at, words := range got {
			if exactly && len(words) > 1 {
				t.Errorf("%v: %d times", at, len(words))
			}
			slices.Sort(words)
			got[at] = slices.Compact(words)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-undisturbed +killed):\n%s", diff)
		}
	})
}

// An edge of its own between two nodes of T reaches no prediction and moves no row. It is counted, and is a dead
// letter only where unmatched edges are.
func TestEdgesBetweenNodesOfTAreCounted(t *testing.T) {
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprint("drop ", drop), func(t *testing.T) {
			s, v, seen := newStack(t, 1), newGrowingVersion(), &recorder{}
			begin := time.Now().Add(-5 * time.Hour).Truncate(time.Millisecond)
			a, last := arrival("n", "t0"), arrival("last")
			a.EdgeCount = 1
			records := []kafka.Record{nodeRecord(t, a, begin)}
			for _, ends := range [][2]string{{"t0", "t1"}, {"t1", "t0"}, {"t1", "t2"}, {"t0", "t0"}, {"t0", "n"},
				{"t0", "nobody"}, {"nobody", "t0"}} {
				records = append(records, edgeRecord(t, ends[0], ends[1], begin))
			}
			records = append(records, nodeRecord(t, last, begin.Add(3*time.Hour)),
				nodeRecord(t, last, begin.Add(6*time.Hour)))
			expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, records))
			o := s.waiting(true, v, seen)
			o.Window.DropUnmatched = drop
			stop := s.start(o)
			s.wait("all but the last record is told", func() bool { return s.committed() == int64(len(records)-1) })
			expect.OK(t, stop())
			old := 0
			for _, b := range seen.batches {
				old += b.OldEdges
			}
			if old != 3 || seen.windows.Unmatched != 7 {
				t.Errorf("%d edges between nodes of T, want 3; %d of all unmatched, want 7", old, seen.windows.Unmatched)
			}
			letters := s.published(lettersTopic)
			if want := map[bool]int{false: 7, true: 0}[drop]; len(letters) != want {
				t.Errorf("%d dead letters, want %d", len(letters), want)
			}
			for _, r := range letters {
				if !strings.Contains(fmt.Sprintf("%s", r.Headers), "no arrival of the id "+string(r.Key)+" waited") {
					t.Errorf("%s", r.Headers)
				}
			}
			if got := s.predictions(); len(got) != 2 || got[0].ID != "n" || got[0].Known != 1 {
				t.Errorf("predicted %+v", got)
			}
			for _, id := range []string{"t0", "t1", "t2"} {
				if _, there := v.store[id]; there {
					t.Errorf("%s has a row of its own", id)
				}
			}
		})
	}
}

// Edges of their own that say little, or too much: to oneself, twice, to nobody, with types, directions and weights
// that the version does not read, and what no edge may be. Each is counted, or a dead letter with the reason.
func TestOddEdgesOfTheirOwn(t *testing.T) {
	s, v, seen := newStack(t, 1), newGrowingVersion(), &recorder{}
	begin := time.Now().Add(-5 * time.Hour).Truncate(time.Millisecond)
	var records []kafka.Record
	edge := func(id, text string) {
		records = append(records, kafka.Record{Key: []byte(id), Value: []byte(text), Time: begin,
			Headers: []event.Header{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}})
	}
	node := func(id string, edges int) {
		a := arrival(id)
		a.EdgeCount = edges
		records = append(records, nodeRecord(t, a, begin))
	}
	node("a", 5)
	edge("a", `{"source": "a", "target": "a"}`)
	edge("a", `{"source": "a", "target": "t0"}`)
	edge("a", `{"source": "a", "target": "t0"}`)
	edge("a", `{"source": "a", "target": "nobody"}`)
	edge("a", `{"source": "a", "target": "t1", "type": "likes"}`)
	node("both", 2)
	edge("both", `{"source": "both", "target": "t0"}`)
	edge("both", `{"source": "t0", "target": "both", "in": true}`)
	node("heavy", 1)
	edge("heavy", `{"source": "heavy", "target": "t0", "weight": 3}`)
	node("mixed", 2)
	edge("mixed", `{"source": "mixed", "target": "t0", "weight": 3}`)
	edge("mixed", `{"source": "t1", "target": "mixed", "in": true}`)
	edge("x", `{"source": "t0", "target": "x", "weight": 3, "in": true}`)
	edge("x", `{"source": "x", "target": "t0", "weight": 0}`)
	edge("x", `{"source": "x", "target": ""}`)
	edge("x", `{"source": "x", "target": "`+strings.Repeat("x", 70)+`"}`)
	edge("x", `{"source": "x", "target": "t0"}`)
	last := arrival("last")
	records = append(records, nodeRecord(t, last, begin.Add(3*time.Hour)), nodeRecord(t, last, begin.Add(6*time.Hour)))
	expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, records))
	o := s.waiting(true, v, seen)
	o.Path.Limits.IDBytes = 64
	stop := s.start(o)
	s.wait("all but the last record is told", func() bool { return s.committed() == int64(len(records)-1) })
	expect.OK(t, stop())
	var got []string
	for _, p := range s.predictions() {
		got = append(got, fmt.Sprintf("%s %d known %d unknown", p.ID, p.Known, p.Unknown))
	}
	if want := []string{"a 2 known 1 unknown", "both 1 known 0 unknown", "heavy 1 known 0 unknown",
		"mixed 2 known 0 unknown", "last 0 known 0 unknown"}; !slices.Equal(got, want) {
		t.Errorf("predicted %q, want %q", got, want)
	}
	var dropped int
	var read EdgeCounts
	for _, b := range seen.batches {
		dropped += b.Dropped
		read.Add(b.Weights)
	}
	if want := (EdgeCounts{Types: 1, Directions: 3, Ignored: 3}); dropped != 3 || read != want {
		t.Errorf("%d edges were dropped, want 3; read otherwise: %+v, want %+v", dropped, read, want)
	}
	var letters []string
	for _, r := range s.published(lettersTopic) {
		text := string(r.Key)
		for _, h := range r.Headers {
			if h.Key == event.HeaderReason || h.Key == event.HeaderDetail {
				text += ": " + string(h.Value)
			}
		}
		letters = append(letters, text)
	}
	slices.Sort(letters)
	want := []string{"x: edge_unmatched: no arrival of the id x waited", "x: edge_unmatched: no arrival of the id x waited",
		"x: too_large: target: ", "x: unparsable: target: is empty", "x: unparsable: weight: 0, weights must be above 0"}
	if !slices.EqualFunc(letters, want, strings.HasPrefix) {
		t.Errorf("dead letters %q, want %q", letters, want)
	}
}
