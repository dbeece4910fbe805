// Package eventtest has arrivals and predictions for tests: drawn at random by rapid, or typical of a stream.
package eventtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"rivulet/event"
)

// SameBits compares float32 by their bits, so that -0 is not 0, and lists by their elements, nil or empty.
var SameBits = cmp.Options{
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmpopts.EquateEmpty(),
}

// RequireSameArrival fails the test where two arrivals differ.
func RequireSameArrival(t rapid.TB, want, got *event.Arrival) {
	t.Helper()
	if diff := cmp.Diff(want, got, SameBits); diff != "" {
		t.Fatalf("arrival (-want +got):\n%s", diff)
	}
	if !got.Features.Sparse && got.Features.Indices != nil {
		t.Fatalf("a dense row has indices %v, want nil", got.Features.Indices)
	}
}

// MaxFeatures returns the smallest d that fits the features.
func MaxFeatures(a *event.Arrival) int {
	if !a.Features.Sparse {
		return len(a.Features.Values)
	}
	if len(a.Features.Indices) == 0 {
		return 0
	}
	return int(slices.Max(a.Features.Indices)) + 1
}

// Finite draws numbers that are neither NaN nor infinite.
func Finite() *rapid.Generator[float32] {
	return rapid.Map(rapid.Uint32(), func(bits uint32) float32 {
		v := math.Float32frombits(bits)
		if v-v != 0 {
			return 1
		}
		return v
	})
}

// Text draws strings of UTF-8 that are not empty.
func Text() *rapid.Generator[string] {
	return rapid.String().Filter(func(s string) bool { return s != "" && utf8.ValidString(s) })
}

// Moment draws times that every form can hold.
func Moment() *rapid.Generator[time.Time] {
	first, last := time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	return rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(first, last).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
}

// DrawSparse draws a sparse row.
func DrawSparse(t *rapid.T) event.Features {
	indices := rapid.SliceOfNDistinct(rapid.Int32Range(0, math.MaxInt32), 0, 20, rapid.ID).Draw(t, "indices")
	slices.Sort(indices)
	values := rapid.SliceOfN(rapid.OneOf(rapid.Just(float32(1)), Finite()), len(indices), len(indices)).Draw(t, "values")
	return event.Features{Indices: indices, Values: values, Sparse: true}
}

// DrawArrival draws an arrival with features by position.
func DrawArrival(t *rapid.T) event.Arrival {
	a := event.Arrival{ID: Text().Draw(t, "id"), Edges: rapid.SliceOf(Text()).Draw(t, "edges")}
	if rapid.Bool().Draw(t, "sparse") {
		a.Features = DrawSparse(t)
	} else {
		a.Features.Values = rapid.SliceOf(Finite()).Draw(t, "features")
	}
	if rapid.Bool().Draw(t, "timed") {
		a.Time = Moment().Draw(t, "time")
	}
	return a
}

// DrawPrediction draws a prediction; any of its optional fields may be there.
func DrawPrediction(t *rapid.T) event.Prediction {
	count := rapid.IntRange(0, math.MaxInt32)
	optional := rapid.OneOf(rapid.Just(""), Text())
	score := rapid.Custom(func(t *rapid.T) event.Score {
		return event.Score{Class: count.Draw(t, "class"), Name: optional.Draw(t, "name"),
			Probability: rapid.Float32Range(0, 1).Draw(t, "probability")}
	})
	number := rapid.Custom(func(t *rapid.T) event.Number {
		return event.Number{Name: optional.Draw(t, "output"), Value: Finite().Draw(t, "value"),
			Lower: Finite().Draw(t, "lower"),
			Upper: Finite().Draw(t, "upper")}
	})
	link := rapid.Custom(func(t *rapid.T) event.Link {
		return event.Link{ID: optional.Draw(t, "candidate"), Score: Finite().Draw(t, "score")}
	})
	when := rapid.OneOf(rapid.Just(time.Time{}), Moment())
	p := event.Prediction{
		ID:            Text().Draw(t, "id"),
		Class:         count.Draw(t, "class"),
		ClassName:     optional.Draw(t, "name"),
		Probability:   rapid.Float32Range(0, 1).Draw(t, "probability"),
		Top:           rapid.SliceOfN(score, 0, 5).Draw(t, "top"),
		Probabilities: rapid.SliceOfN(rapid.Float32Range(0, 1), 0, 9).Draw(t, "probabilities"),
		Logits:        rapid.SliceOfN(Finite(), 0, 9).Draw(t, "logits"),
		Numbers:       rapid.SliceOfN(number, 0, 3).Draw(t, "numbers"),
		Labels:        rapid.SliceOfN(score, 0, 3).Draw(t, "labels"),
		Links:         rapid.SliceOfN(link, 0, 3).Draw(t, "links"),
		Known:         count.Draw(t, "known"),
		Arrivals:      count.Draw(t, "arrivals"),
		InBatch:       count.Draw(t, "in batch"),
		Unknown:       count.Draw(t, "unknown"),
		Artifact:      optional.Draw(t, "artifact"),
		Batch:         optional.Draw(t, "batch"),
		Source: event.Source{Topic: optional.Draw(t, "topic"), Partition: count.Draw(t, "partition"),
			Offset: rapid.Int64Range(0, math.MaxInt64).Draw(t, "offset")},
		ArrivalTime:   when.Draw(t, "arrival"),
		IngestTime:    when.Draw(t, "ingest"),
		PredictedTime: when.Draw(t, "predicted"),
		Abstained:     rapid.Bool().Draw(t, "abstained"),
		Degraded:      rapid.Bool().Draw(t, "degraded"),
	}
	if p.Representation = rapid.SliceOfN(Finite(), 0, 9).Draw(t, "representation"); len(p.Representation) > 0 {
		kinds := rapid.SampledFrom([]string{event.RepresentationLogits, event.RepresentationEmbedding})
		p.RepresentationKind = kinds.Draw(t, "kind")
	}
	if rapid.Bool().Draw(t, "explained") {
		reason := rapid.Custom(func(t *rapid.T) event.Reason {
			kind := rapid.SampledFrom([]string{event.KindFeature, event.KindNeighbour, event.KindArrival})
			return event.Reason{Kind: kind.Draw(t, "kind"), Name: optional.Draw(t, "name"), ID: optional.Draw(t, "id"),
				Share: Finite().Draw(t, "share"), Margin: Finite().Draw(t, "margin")}
		})
		p.Explanation = &event.Explanation{RunnerUp: rapid.IntRange(-1, 9).Draw(t, "runner-up"),
			Reasons: rapid.SliceOfN(reason, 0, 3).Draw(t, "reasons")}
	}
	return p
}

// UsedArrival returns an arrival with the content of another record.
func UsedArrival() event.Arrival {
	return event.Arrival{
		ID:       "left over",
		Features: event.Features{Indices: []int32{9, 9, 9}, Values: []float32{9, 9, 9}, Sparse: true},
		Edges:    []string{"left", "over", "left", "over"},
		Time:     time.Unix(9, 9),
	}
}

// BenchArrival returns a typical record of a stream: a bag of 35 words with weights, or 500 dense values, and 20 edges.
func BenchArrival(codec event.Codec, sparse bool) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	a := event.Arrival{ID: "paper-1234567", Time: FullPrediction().IngestTime}
	if a.Features.Sparse = sparse; sparse {
		var index int32
		for range 35 {
			index += 1 + r.Int32N(70)
			a.Features.Indices = append(a.Features.Indices, index)
			a.Features.Values = append(a.Features.Values, r.Float32())
		}
	} else {
		for range 500 {
			a.Features.Values = append(a.Features.Values, float32(r.NormFloat64()))
		}
	}
	for range 20 {
		a.Edges = append(a.Edges, fmt.Sprintf("paper-%d", r.IntN(3_000_000)))
	}
	data, err := codec.AppendArrival(nil, &a)
	if err != nil {
		panic(err)
	}
	return data
}

// FullPrediction returns a prediction with all fields.
func FullPrediction() event.Prediction {
	cet := time.FixedZone("", 3600)
	return event.Prediction{
		ID: "p1", Key: []byte("key"), Class: 2, ClassName: "Theory", Probability: 0.7,
		Top:           []event.Score{{Class: 2, Name: "Theory", Probability: 0.7}, {Probability: 0.2}},
		Probabilities: []float32{0.2, 0.1, 0.7}, Logits: []float32{-1, 1e-9, float32(1) / 3},
		Representation: []float32{0.5, -0.1}, RepresentationKind: event.RepresentationEmbedding, Abstained: true,
		Degraded: true,
		Explanation: &event.Explanation{RunnerUp: 1, Reasons: []event.Reason{
			{Kind: event.KindFeature, Name: "country=DE", Share: 1.5, Margin: 2.25},
			{Kind: event.KindNeighbour, ID: "p4", Share: -0.5, Margin: 0.75}, {Kind: event.KindArrival, Margin: 1e-9}}},
		Numbers: []event.Number{{Name: "price", Value: 12.5, Lower: -1, Upper: 26}},
		Labels:  []event.Score{{Class: 2, Name: "sold", Probability: 0.75}},
		Links:   []event.Link{{ID: "i7", Score: -1.5}},
		Known:   3, Arrivals: 4, InBatch: 2, Unknown: 1, Artifact: "v7", Batch: "b-1",
		Source:        event.Source{Topic: "arrivals", Partition: 4, Offset: 1 << 60},
		ArrivalTime:   time.Date(2026, 3, 1, 13, 0, 0, 0, cet),
		IngestTime:    time.Date(2026, 3, 1, 13, 0, 0, 250_000_000, cet),
		PredictedTime: time.Date(2026, 3, 1, 13, 0, 0, 250_000_001, cet),
	}
}
