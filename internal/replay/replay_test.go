package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/test/expect"
)

// four is a path 0–1–2–3 whose nodes 2 and 3 are test nodes.
func four(x graph.Features) *dataset.Dataset {
	adj := graph.NewCSR(4, 4, []graph.Edge{{Row: 0, Col: 1}, {Row: 1, Col: 0}, {Row: 1, Col: 2}, {Row: 2, Col: 1},
		{Row: 2, Col: 3}, {Row: 3, Col: 2}})
	adj.Val = nil
	return &dataset.Dataset{Name: "four", IDs: []string{"a", "b", "c", "d"}, Adj: adj, X: x,
		Labels: []int32{0, 1, 0, 1}, Classes: []string{"0", "1"}, Train: []int32{0}, Validation: []int32{1},
		Test: []int32{2, 3}}
}

func sparse() graph.Features {
	return graph.Features{Sparse: &graph.CSR{Rows: 4, Cols: 3, RowPtr: []int{0, 1, 2, 4, 4}, ColIdx: []int32{0, 1, 0, 2}}}
}

func TestLinesAreArrivals(t *testing.T) {
	dense := &graph.Dense{Rows: 4, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 0.1, 7, 8}}
	for name, test := range map[string]struct {
		x    graph.Features
		want event.Features
	}{
		"sparse": {sparse(), event.Features{Sparse: true, Indices: []int32{0, 2}, Values: []float32{1, 1}}},
		"dense":  {graph.Features{Dense: dense}, event.Features{Values: []float32{5, 0.1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			n, err := Replay(t.Context(), TestNodes(four(test.x)), &Lines{W: &out}, Options{Chunk: 10})
			if err != nil || n != 2 {
				t.Fatalf("sent %d, %v", n, err)
			}
			lines := bufio.NewScanner(&out)
			lines.Scan()
			var got event.Arrival
			expect.OK(t, (json.Codec{}).DecodeArrival(lines.Bytes(), &got))
			if got.Time.IsZero() {
				t.Error("the arrival has no time")
			}
			got.Time = time.Time{}
			want := event.Arrival{ID: "c", Features: test.want, Edges: []string{"b", "d"}}
			expect.Same(t, want, got, "first arrival")
		})
	}
}

// sink counts and fails on demand.
type sink struct {
	sizes []int
	err   error
}

func (s *sink) Send(_ context.Context, arrivals []event.Arrival) error {
	s.sizes = append(s.sizes, len(arrivals))
	return s.err
}

func TestRateSpacesArrivals(t *testing.T) {
	now := time.Unix(0, 0)
	var s sink
	start := now
	_, err := Replay(t.Context(), TestNodes(four(sparse())), &s, Options{Rate: 10, Chunk: 10,
		Now:   func() time.Time { return now },
		Sleep: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }})
	expect.OK(t, err)
	expect.Same(t, []int{1, 1}, s.sizes, "sizes of chunks")
	if took := now.Sub(start); took < 100*time.Millisecond || took > 110*time.Millisecond {
		t.Errorf("the second arrival came after %v at 10 a second", took)
	}
}

func TestChunksAndLimit(t *testing.T) {
	var s sink
	if n, err := Replay(t.Context(), TestNodes(four(sparse())), &s, Options{Chunk: 1}); n != 2 || err != nil ||
		len(s.sizes) != 2 {
		t.Errorf("sent %d in chunks %v, %v", n, s.sizes, err)
	}
	if n, err := Replay(t.Context(), TestNodes(four(sparse())), &sink{}, Options{Chunk: 1, Limit: 1}); n != 1 ||
		err != nil {
		t.Errorf("sent %d with limit 1, %v", n, err)
	}
}

func TestSinkErrorNamesThePlace(t *testing.T) {
	broken := errors.New("broken")
	n, err := Replay(t.Context(), TestNodes(four(sparse())), &sink{err: broken}, Options{Chunk: 1})
	if n != 0 || !errors.Is(err, broken) || err.Error() != "sending arrivals 0 to 0 of four: broken" {
		t.Errorf("sent %d, error %v", n, err)
	}
}
