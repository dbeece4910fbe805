package event

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// sameBits compares float32 by their bits, so that -0 is not 0, and lists by their elements, nil or empty.
var sameBits = cmp.Options{
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmpopts.EquateEmpty(),
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func requireSameArrival(t failer, want, got *Arrival) {
	t.Helper()
	if diff := cmp.Diff(want, got, sameBits); diff != "" {
		t.Fatalf("arrival (-want +got):\n%s", diff)
	}
	if !got.Features.Sparse && got.Features.Indices != nil {
		t.Fatalf("a dense row has indices %v, want nil", got.Features.Indices)
	}
}

// maxFeatures returns the smallest d that fits the features.
func maxFeatures(a *Arrival) int {
	if !a.Features.Sparse {
		return len(a.Features.Values)
	}
	if len(a.Features.Indices) == 0 {
		return 0
	}
	return int(slices.Max(a.Features.Indices)) + 1
}

func finite() *rapid.Generator[float32] {
	return rapid.Map(rapid.Uint32(), func(bits uint32) float32 {
		v := math.Float32frombits(bits)
		if v-v != 0 {
			return 1
		}
		return v
	})
}

func text() *rapid.Generator[string] {
	return rapid.String().Filter(func(s string) bool { return s != "" && utf8.ValidString(s) })
}

func moment() *rapid.Generator[time.Time] {
	first, last := time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	return rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(first, last).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
}

func drawSparse(t *rapid.T) Features {
	indices := rapid.SliceOfNDistinct(rapid.Int32Range(0, math.MaxInt32), 0, 20, rapid.ID).Draw(t, "indices")
	slices.Sort(indices)
	values := rapid.SliceOfN(rapid.OneOf(rapid.Just(float32(1)), finite()), len(indices), len(indices)).Draw(t, "values")
	return Features{Indices: indices, Values: values, Sparse: true}
}

func drawArrival(t *rapid.T) Arrival {
	a := Arrival{ID: text().Draw(t, "id"), Edges: rapid.SliceOf(text()).Draw(t, "edges")}
	if rapid.Bool().Draw(t, "sparse") {
		a.Features = drawSparse(t)
	} else {
		a.Features.Values = rapid.SliceOf(finite()).Draw(t, "features")
	}
	if rapid.Bool().Draw(t, "timed") {
		a.Time = moment().Draw(t, "time")
	}
	return a
}

func drawPrediction(t *rapid.T) Prediction {
	count := rapid.IntRange(0, math.MaxInt32)
	optional := rapid.OneOf(rapid.Just(""), text())
	score := rapid.Custom(func(t *rapid.T) Score {
		return Score{count.Draw(t, "class"), optional.Draw(t, "name"), rapid.Float32Range(0, 1).Draw(t, "probability")}
	})
	when := rapid.OneOf(rapid.Just(time.Time{}), moment())
	p := Prediction{
		ID:            text().Draw(t, "id"),
		Class:         count.Draw(t, "class"),
		ClassName:     optional.Draw(t, "name"),
		Probability:   rapid.Float32Range(0, 1).Draw(t, "probability"),
		Top:           rapid.SliceOfN(score, 0, 5).Draw(t, "top"),
		Probabilities: rapid.SliceOfN(rapid.Float32Range(0, 1), 0, 9).Draw(t, "probabilities"),
		Logits:        rapid.SliceOfN(finite(), 0, 9).Draw(t, "logits"),
		Known:         count.Draw(t, "known"),
		Arrivals:      count.Draw(t, "arrivals"),
		InBatch:       count.Draw(t, "in batch"),
		Unknown:       count.Draw(t, "unknown"),
		Artifact:      optional.Draw(t, "artifact"),
		Batch:         optional.Draw(t, "batch"),
		Source: Source{optional.Draw(t, "topic"), count.Draw(t, "partition"),
			rapid.Int64Range(0, math.MaxInt64).Draw(t, "offset")},
		ArrivalTime:   when.Draw(t, "arrival"),
		IngestTime:    when.Draw(t, "ingest"),
		PredictedTime: when.Draw(t, "predicted"),
		Abstained:     rapid.Bool().Draw(t, "abstained"),
		Degraded:      rapid.Bool().Draw(t, "degraded"),
	}
	if p.Representation = rapid.SliceOfN(finite(), 0, 9).Draw(t, "representation"); len(p.Representation) > 0 {
		p.RepresentationKind = rapid.SampledFrom([]string{RepresentationLogits, RepresentationEmbedding}).Draw(t, "kind")
	}
	if rapid.Bool().Draw(t, "explained") {
		reason := rapid.Custom(func(t *rapid.T) Reason {
			return Reason{rapid.SampledFrom([]string{KindFeature, KindNeighbour, KindArrival}).Draw(t, "kind"),
				optional.Draw(t, "name"),
				optional.Draw(t, "id"), finite().Draw(t, "share"), finite().Draw(t, "margin")}
		})
		p.Explanation = &Explanation{RunnerUp: rapid.IntRange(-1, 9).Draw(t, "runner-up"),
			Reasons: nilIfEmpty(rapid.SliceOfN(reason, 0, 3).Draw(t, "reasons"))}
	}
	return p
}
