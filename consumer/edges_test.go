package consumer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/version"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// The tests of this file are the sentences of "What is an edge" (docs/algorithm.md, section 1), in their order.

// counts are known/in batch/unknown of every prediction.
func counts(predictions []event.Prediction) string {
	var out []string
	for _, p := range predictions {
		out = append(out, fmt.Sprintf("%d/%d/%d", p.Known, p.InBatch, p.Unknown))
	}
	return fmt.Sprint(out)
}

func wantCounts(t *testing.T, predictions []event.Prediction, want string) {
	t.Helper()
	if got := counts(predictions); got != want {
		t.Errorf("known/inBatch/unknown = %s, want %s", got, want)
	}
}

func wantAdj(t *testing.T, b *attach.Batch, want string) {
	t.Helper()
	if got := rowsOf(b.Adj); got != want {
		t.Errorf("rows of ã = %s, want %s", got, want)
	}
}

func TestNeighbourIsKnownIfItsIDIsANodeOfT(t *testing.T) {
	p, b := run(t, attach.Node, arrival("a", "t0", "t2"))
	wantCounts(t, p, "[2/0/0]")
	if b.Known[0] != 2 || b.R.RowLen(0) != 2 {
		t.Errorf("known %d, entries of r %d, want 2 and 2", b.Known[0], b.R.RowLen(0))
	}
}

func TestNeighbourIsKnownAlsoWhenItsRowIsEmpty(t *testing.T) {
	p, b := run(t, attach.Node, arrival("a", "t0", "empty"))
	wantCounts(t, p, "[2/0/0]")
	if b.Known[0] != 2 || b.R.RowLen(0) != 1 {
		t.Errorf("known %d, entries of r %d, want 2 and 1", b.Known[0], b.R.RowLen(0))
	}
}

func TestDegreeIsOnePlusKnownPlusDegreeAmongArrivals(t *testing.T) {
	p, b := run(t, attach.Graph, arrival("a", "t0", "b", "nobody"), arrival("b"))
	wantCounts(t, p, "[1/1/1 0/1/0]")
	if b.Known[0] != 1 || b.Adj.RowLen(0) != 1 {
		t.Errorf("known %d, degree in ã %d, want 1 and 1", b.Known[0], b.Adj.RowLen(0))
	}
}

func TestUnknownIDsCountInThePredictionOnly(t *testing.T) {
	with, b := run(t, attach.Graph, arrival("a", "t0", "x", "y", "z"))
	wantCounts(t, with, "[1/0/3]")
	wantAdj(t, b, "[[]]")
	without, _ := run(t, attach.Graph, arrival("a", "t0"))
	if with[0].Probability != without[0].Probability {
		t.Errorf("probability %v with unknown neighbours, %v without", with[0].Probability, without[0].Probability)
	}
}

func TestDuplicatesMerge(t *testing.T) {
	p, b := run(t, attach.Graph, arrival("a", "t0", "b", "t0", "b", "x", "x"), arrival("b"))
	wantCounts(t, p, "[1/1/1 0/1/0]")
	wantAdj(t, b, "[[1] [0]]")
}

func TestSelfEdgesAreDroppedAndCounted(t *testing.T) {
	v, out, seen := newTestVersion("v1"), &kept{}, &recorder{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Observer: seen})
	expect.OK(t, p.Process(t.Context(), Intake{Records: records(t, arrival("a", "a", "t0", "a"))}))
	wantCounts(t, out.predictions(), "[1/0/0]")
	wantAdj(t, v.batches[0], "[[]]")
	if got := seen.batches[0].Dropped; got != 2 {
		t.Errorf("dropped %d, want 2", got)
	}
}

func TestInAGraphBatchAnEdgeExistsIfEitherListsTheOther(t *testing.T) {
	p, b := run(t, attach.Graph, arrival("a", "b"), arrival("b"), arrival("c", "b"), arrival("d"))
	wantAdj(t, b, "[[1] [0 2] [1] []]")
	wantCounts(t, p, "[0/1/0 0/2/0 0/1/0 0/0/0]")
}

func TestAnEdgeThatBothListIsOneEdge(t *testing.T) {
	_, b := run(t, attach.Graph, arrival("a", "b"), arrival("b", "a"))
	wantAdj(t, b, "[[1] [0]]")
}

func TestOfTwoArrivalsWithOneIDBothArePredictedAndTheLaterStands(t *testing.T) {
	p, b := run(t, attach.Graph, arrival("a", "t0", "c"), arrival("a", "t2"), arrival("c", "a"))
	if len(p) != 3 {
		t.Fatalf("%d predictions, want 3", len(p))
	}
	wantAdj(t, b, "[[] [2] [1]]")
	wantCounts(t, p, "[1/0/1 1/1/0 0/1/0]")
}

func TestAnIDOfTIsTheNodeOfTAlsoWhenItArrives(t *testing.T) {
	// "t0" arrives. Whoever lists t0 means the node of T; what the arrival lists itself are its own edges.
	p, b := run(t, attach.Graph, arrival("t0", "c"), arrival("c"), arrival("d", "t0"))
	wantAdj(t, b, "[[1] [0] []]")
	wantCounts(t, p, "[0/1/0 0/1/0 1/0/0]")
}

func TestInANodeBatchEdgesToOtherArrivalsAreUnknown(t *testing.T) {
	p, b := run(t, attach.Node, arrival("a", "b", "t0"), arrival("b", "a"))
	wantAdj(t, b, "none")
	wantCounts(t, p, "[1/0/1 0/0/1]")
}

func TestAnArrivalWithoutKnownNeighboursIsPredictedFromItsFeatures(t *testing.T) {
	alone, _ := run(t, attach.Node, arrival("a"))
	unknown, _ := run(t, attach.Node, arrival("a", "x"))
	if alone[0].Probability != unknown[0].Probability || alone[0].Probability == 0 {
		t.Errorf("probability %v without edges, %v with an unknown one", alone[0].Probability, unknown[0].Probability)
	}
	other := arrival("a")
	other.Features.Values[0] += 3
	moved, _ := run(t, attach.Node, other)
	if moved[0].Probability == alone[0].Probability {
		t.Error("the prediction does not depend on the features")
	}
}

// ã is the same as by a naive reading of the rules, for any batch.
func TestAdjacencyProperty(t *testing.T) {
	ids := []string{"a", "b", "c", "d", "t0", "t1", "empty", "x", "y"}
	rapid.Check(t, func(r *rapid.T) {
		var arrivals []event.Arrival
		for range rapid.IntRange(1, 7).Draw(r, "n") {
			arrivals = append(arrivals, arrival(rapid.SampledFrom(ids).Draw(r, "id"),
				rapid.SliceOfN(rapid.SampledFrom(ids), 0, 6).Draw(r, "edges")...))
		}
		_, b := run(t, attach.Graph, arrivals...)
		known := func(id string) bool { return newTestVersion("").rows[id].Known }
		stands := func(i int) bool {
			return !slices.ContainsFunc(arrivals[i+1:], func(a event.Arrival) bool { return a.ID == arrivals[i].ID })
		}
		lists := func(i, j int) bool {
			return slices.Contains(arrivals[i].Edges, arrivals[j].ID) && !known(arrivals[j].ID) &&
				arrivals[i].ID != arrivals[j].ID
		}
		for i := range arrivals {
			cols, _ := b.Adj.Row(i)
			var want []int32
			for j := range arrivals {
				if i != j && stands(i) && stands(j) && (lists(i, j) || lists(j, i)) {
					want = append(want, int32(j))
				}
			}
			if !slices.Equal(cols, want) {
				r.Fatalf("arrival %d (%s) has %v in ã, want %v", i, arrivals[i].ID, cols, want)
			}
		}
	})
}

// Weights and directions of edges that the served version does not read are counted.
func TestReadingsThatAreIgnoredAreCounted(t *testing.T) {
	seen := &recorder{}
	processed(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Observer: seen},
		kafka.Record{Value: []byte(`{"id":"a","features":[1,2,3,4],"edges":["t0","t1","x"],"weights":[2,3,1]}`)},
		kafka.Record{Value: []byte(`{"id":"b","features":[1,2,3,4],"edges":["t2"],"incoming":["t0"]}`)})
	if want := (EdgeCounts{Ignored: 3, Directions: 2}); seen.batches[0].Weights != want {
		t.Errorf("counted %+v, want %+v", seen.batches[0].Weights, want)
	}
}

// An output that is no number is blamed on the edge whose weight is far from the weights of training, also if edges
// have directions, which the version does not read; where edges count by shares, on the features.
func TestOutputThatIsNotFinite(t *testing.T) {
	weights := graph.Slots{Weighted: true, Upper: []float32{1, 5}, Edges: []float32{1, 2}}
	for _, c := range []struct {
		name    string
		arrival event.Arrival
		slots   graph.Slots
		want    string
	}{
		{"heavy", event.Arrival{Edges: []string{"a", "b"}, Weights: []float32{5, 3e38}}, weights, "the edge to b weighs 3e+38"},
		{"light", event.Arrival{Edges: []string{"a", "b"}, Weights: []float32{1e-40, 1}}, weights, "the edge to a weighs 1e-40"},
		{"heavy to the node", event.Arrival{Edges: []string{"a", "b"}, Incoming: []string{"a"},
			Weights: []float32{1, 2, 3e38}}, weights, "the edge to a weighs 3e+38"},
		{"usual weights", event.Arrival{Edges: []string{"a"}, Weights: []float32{5}}, weights, "features: "},
		{"no weights", event.Arrival{Edges: []string{"a"}, Incoming: []string{"b"}}, weights, "features: "},
		{"not read", event.Arrival{Edges: []string{"a"}, Weights: []float32{3e38}}, graph.Slots{}, "features: "},
		{"shares", event.Arrival{Edges: []string{"a"}, Incoming: []string{"b"}, Weights: []float32{1, 1e-40}},
			graph.Slots{Weighted: true, Directed: true}, "features: "},
	} {
		c.arrival.NormaliseEdges()
		if got := notFinite(&c.arrival, &version.Info{Slots: c.slots}); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
