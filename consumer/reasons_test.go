package consumer

import (
	"errors"
	"fmt"
	"testing"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// Reasons call features by the version's names, and neighbours by nothing or their ids; the neighbour that is named is
// the arrival's.
func TestReasonsNameFeatures(t *testing.T) {
	v := newBenchVersion()
	for k := range benchFeatures {
		v.info.Names = append(v.info.Names, fmt.Sprintf("country=%d", k))
	}
	a := event.Arrival{ID: "new", Features: event.Features{Sparse: true, Indices: []int32{3, 8}, Values: []float32{1, 2}},
		Edges: []string{"17", "nobody"}}
	value, err := json.Codec{}.AppendArrival(nil, &a)
	expect.OK(t, err)
	in := Intake{Name: "b", Records: []kafka.Record{{Value: value}}}
	for _, ids := range []bool{false, true} {
		out := &kept{}
		p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: attach.Node,
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

// What a version lacks is an error in the wiring: never a prediction without it, nor a panic.
func TestVersionsLackWhatTheSettingsAskFor(t *testing.T) {
	plain := newTestVersion("v1")
	plain.embedder = nil
	for _, c := range []struct {
		o    PipelineOptions
		want error
	}{
		{PipelineOptions{Output: Output{Explain: 1}}, errNotExplaining},
		{PipelineOptions{Arrivals: true}, errNotGrowing},
		{PipelineOptions{Output: Output{Representation: event.RepresentationEmbedding}}, errNotEmbedding},
	} {
		c.o.Versions, c.o.Deliverer = serve(plain), discard{}
		p := pipeline(t, c.o)
		in := Intake{Name: "b", Records: records(t, arrival("a", "t0"))}
		if err := p.Process(t.Context(), in); !errors.Is(err, c.want) {
			t.Errorf("Process: %v, want %v", err, c.want)
		}
		if _, _, err := p.Explain(t.Context(), in); err == nil {
			t.Errorf("Explain of a version where %v answers", c.want)
		}
	}
}
