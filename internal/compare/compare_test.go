package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"rivulet/event"
	"rivulet/test/expect"
)

// predictionOf answers record n of a partition with a class.
func predictionOf(n, class int, version string, probability float32) *event.Prediction {
	return &event.Prediction{ID: fmt.Sprint("id", n), Class: class, ClassName: fmt.Sprint("c", class), Artifact: version,
		Probability: probability, Source: event.Source{Topic: "arrivals", Partition: n % 3, Offset: int64(n / 3)}}
}

// Two topics of the same records in other orders: figures are those that counting by hand gives.
func TestFiguresOfACompleteJoin(t *testing.T) {
	labels := NewLabels(10)
	for n := range 8 { // records 8 and 9 have no label
		of := event.Label{ID: fmt.Sprint("id", n), Class: 1}
		if n%2 == 0 {
			of.Class, of.ClassName = event.ByName, "c1"
		}
		labels.Add(&of)
		labels.Add(&event.Label{ID: of.ID, Class: 0}) // a second label does not count
	}
	j := New(100, labels)
	a, b := []int{1, 1, 1, 1, 1, 1, 0, 0, 1, 0}, []int{1, 0, 0, 0, 1, 0, 1, 0, 1, 1}
	for n := range a {
		expect.OK(t, j.Add(t.Context(), 0, predictionOf(n, a[n], "v1", 0.75)))
	}
	j.End(0)
	for n := len(b) - 1; n >= 0; n-- {
		expect.OK(t, j.Add(t.Context(), 1, predictionOf(n, b[n], "v2", 0.5)))
	}
	expect.OK(t, j.Add(t.Context(), 1, predictionOf(99, 1, "v3", 0.5))) // of a record that the first has not answered
	j.End(1)
	got := j.Result()
	if math.Abs(got.P()-0.21875) > 1e-12 { // of 5 coins: P(k < 1)·2 + P(k = 1)
		t.Errorf("p is %v", got.P())
	}
	want := Result{Versions: [2]map[string]int{{"v1": 10}, {"v2": 10, "v3": 1}}, Predictions: [2]int{10, 11},
		Alone: [2]int{0, 1}, Pairs: 10, Same: 4, Confidence: [2]float64{0.75, 0.5}, Labels: 8, Right: [2]int{6, 3},
		Only: [2]int{4, 1}, Calibration: [2]float64{0, 0.125}}
	expect.Same(t, want, got, "figures")
}

// The topic that is ahead waits for the other one, so that a small memory joins topics of any length, and one that has
// no counterparts any more does not wait.
func TestMemoryIsBounded(t *testing.T) {
	const n, remember = 20_000, 64
	j := New(remember, nil)
	var wait sync.WaitGroup
	for k := range 2 {
		wait.Go(func() {
			draw := rand.New(rand.NewPCG(uint64(k), 1))
			for i := range n {
				if k == 1 && draw.IntN(10) == 0 {
					continue // a dead letter of this version
				}
				if err := j.Add(t.Context(), k, predictionOf(i, 1, "v", 0.5)); err != nil {
					t.Error(err)
				}
			}
			j.End(k)
		})
	}
	wait.Wait()
	for k := range j.sides {
		if w, o := len(j.sides[k].waiting), len(j.sides[k].order); w > remember || o > 2*remember {
			t.Errorf("topic %d has %d predictions and %d places in memory, want up to %d", k, w, o, remember)
		}
	}
	r := j.Result()
	if r.Predictions[0] != n || r.Pairs != r.Predictions[1] || r.Alone != [2]int{n - r.Pairs, 0} {
		t.Errorf("%d and %d predictions make %d pairs, and %v are alone", r.Predictions[0], r.Predictions[1], r.Pairs,
			r.Alone)
	}
}

// Who waits for the other topic ends with its context.
func TestAddEndsWithItsContext(t *testing.T) {
	j, why := New(2, nil), errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	expect.OK(t, j.Add(ctx, 0, predictionOf(0, 1, "v", 1)))
	waits := make(chan error)
	go func() { waits <- j.Add(ctx, 0, predictionOf(1, 1, "v", 1)) }()
	cancel(why)
	if err := <-waits; !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	if err := j.Add(t.Context(), 1, &event.Prediction{Numbers: []event.Number{{}}}); !errors.Is(err, ErrTask) {
		t.Errorf("numbers: %v", err)
	}
}

// Labels beyond the bound are forgotten, the oldest first.
func TestLabelsAreBounded(t *testing.T) {
	l := NewLabels(2)
	for _, id := range []string{"a", "b", "c"} {
		l.Add(&event.Label{ID: id, Class: 1})
	}
	j := New(10, l)
	for k := range 2 {
		for n, id := range []string{"a", "b", "c"} {
			p := predictionOf(n, 1, "v", 1)
			p.ID = id
			expect.OK(t, j.Add(t.Context(), k, p))
		}
		j.End(k)
	}
	if r := j.Result(); r.Labels != 2 || l.Forgotten != 1 {
		t.Errorf("%d pairs have a label and %d labels are forgotten, want 2 and 1", r.Labels, l.Forgotten)
	}
}

// Places of predictions that have met their counterpart do not count: at the least memory the oldest ones still go.
func TestTheLeastMemoryIsBounded(t *testing.T) {
	const most = 2
	s := &side{waiting: map[event.Source]answer{}}
	for i := range int64(100) {
		at := event.Source{Topic: "arrivals", Offset: i}
		s.wait(at, answer{}, most)
		if i == 0 { // it met its counterpart
			delete(s.waiting, at)
		}
		if len(s.waiting) > most || len(s.order) >= 2*most {
			t.Fatalf("%d predictions and %d places in memory after %d, want up to %d", len(s.waiting), len(s.order), i+1, most)
		}
	}
}
