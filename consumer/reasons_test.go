package consumer

import (
	"errors"
	"fmt"
	"testing"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// namedVersion is a version whose features have names.
type namedVersion struct{ *benchVersion }

func (v namedVersion) FeatureNames() []string {
	names := make([]string, benchFeatures)
	for k := range names {
		names[k] = fmt.Sprintf("country=%d", k)
	}
	return names
}

// Reasons call features by the version's names, and neighbours by nothing or their ids; the neighbour that is named is
// the arrival's.
func TestReasonsNameFeatures(t *testing.T) {
	v := namedVersion{newBenchVersion()}
	a := event.Arrival{ID: "new", Features: event.Features{Sparse: true, Indices: []int32{3, 8}, Values: []float32{1, 2}},
		Edges: []string{"17", "nobody"}}
	value, err := json.Codec{}.AppendArrival(nil, &a)
	expect.OK(t, err)
	in := Intake{Name: "b", Records: []kafka.Record{{Value: value}}}
	for _, ids := range []bool{false, true} {
		out := &kept{}
		p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: Node,
			Output: Output{Explain: 10, ExplainIDs: ids}})
		expect.OK(t, p.Process(t.Context(), in))
		want := map[event.Reason]bool{{Kind: event.KindFeature, Name: "country=3"}: true,
			{Kind: event.KindFeature, Name: "country=8"}: true}
		if ids {
			want[event.Reason{Kind: event.KindNeighbour, ID: "17"}] = true
		} else {
			want[event.Reason{Kind: event.KindNeighbour}] = true
		}
		got := out.batches[0].Predictions[0].Explanation.Reasons
		for _, r := range got {
			if r.Margin == 0 || !want[event.Reason{Kind: r.Kind, Name: r.Name, ID: r.ID}] {
				t.Errorf("ids %v: reason %+v is not one of %v", ids, r, want)
			}
		}
		if len(got) != len(want) { // an unknown id has no share
			t.Errorf("ids %v: %d reasons, want %d", ids, len(got), len(want))
		}
	}
}

// A version that cannot say why is an error in the wiring, not a prediction without reasons.
func TestReasonsOfAVersionThatHasNone(t *testing.T) {
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: discard{},
		Output: Output{Explain: 1}})
	if err := p.Process(t.Context(), Intake{Name: "b"}); !errors.Is(err, errNotExplaining) {
		t.Errorf("error %v, want %v", err, errNotExplaining)
	}
}
