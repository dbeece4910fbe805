package artifact_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/artifact/baseline"
	"rivulet/test/expect"
)

func reference() baseline.Reference {
	return baseline.Reference{Nodes: 4, UnknownNeighbours: 0.25,
		FeatureNorm: baseline.NewHistogram([]float64{1, 2, 3, 4}), FeatureCount: baseline.NewHistogram([]float64{7, 7, 7, 7}),
		Models: map[string]baseline.ModelReference{"sgc": {Accuracy: 75, Confidence: 0.5,
			Classes: []float64{0.5, 0.25, 0.25}}}}
}

// A reference is read as it was written, in the serving part too.
func TestReferenceIsKept(t *testing.T) {
	b := artifacttest.Bundle(9, artifacttest.Size{})
	b.Manifest.Reference = reference()
	got, err := artifact.Read(mustWrite(t, b))
	expect.OK(t, err)
	if diff := cmp.Diff(reference(), got.Manifest.Reference); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestInvalidReference(t *testing.T) {
	for want, change := range map[string]func(r *baseline.Reference){
		"reference.nodes is 0":                func(r *baseline.Reference) { r.Nodes = 0 },
		"reference.unknown_neighbours is 1.5": func(r *baseline.Reference) { r.UnknownNeighbours = 1.5 },
		"reference.feature_norm.bounds is empty": func(r *baseline.Reference) {
			r.FeatureNorm.Bounds = nil
		},
		"reference.feature_norm.bounds[1] is 0 after": func(r *baseline.Reference) {
			r.FeatureNorm.Bounds[1] = 0
		},
		"reference.feature_count.bounds[0] is +Inf": func(r *baseline.Reference) {
			r.FeatureCount.Bounds[0] = math.Inf(1)
		},
		"reference.feature_count.shares has 2 values for 2 bounds": func(r *baseline.Reference) {
			r.FeatureCount.Shares = r.FeatureCount.Shares[1:]
		},
		"reference.feature_count.shares sum to 0.5": func(r *baseline.Reference) {
			r.FeatureCount.Shares[1] = 0.5
		},
		`reference.models has "gcn"`: func(r *baseline.Reference) {
			r.Models["gcn"] = r.Models["sgc"]
		},
		"reference.models.sgc.accuracy is 101": model(func(m *baseline.ModelReference) {
			m.Accuracy = 101
		}),
		"reference.models.sgc.confidence is NaN": model(func(m *baseline.ModelReference) {
			m.Confidence = math.NaN()
		}),
		"reference.models.sgc.classes has 2 values, want 3": model(func(m *baseline.ModelReference) {
			m.Classes = m.Classes[1:]
		}),
		"reference.models.sgc.classes[0] is -0.5": model(func(m *baseline.ModelReference) {
			m.Classes[0] = -0.5
		}),
	} {
		b := artifacttest.Bundle(9, artifacttest.Size{})
		b.Manifest.Reference = reference()
		change(&b.Manifest.Reference)
		wantError(t, b.Seal(), "manifest.json: "+want)
	}
}

func model(change func(*baseline.ModelReference)) func(*baseline.Reference) {
	return func(r *baseline.Reference) {
		m := r.Models["sgc"]
		change(&m)
		r.Models["sgc"] = m
	}
}

// Bins are the deciles, and one at each end for what training never saw.
func TestHistogram(t *testing.T) {
	var values []float64
	for v := range 100 {
		values = append(values, float64((v*37)%100+1)) // 1 to 100, in disorder
	}
	h := baseline.NewHistogram(values)
	if len(h.Shares) != 12 || h.Shares[0] != 0 || h.Shares[11] != 0 {
		t.Fatalf("shares %v", h.Shares)
	}
	for k := 1; k <= 10; k++ {
		if math.Abs(h.Shares[k]-0.1) > 1e-12 || h.Bounds[k] != float64(10*k) {
			t.Errorf("bin %d up to %v has %v, want a tenth up to %d", k, h.Bounds[k], h.Shares[k], 10*k)
		}
	}
	for v, want := range map[float64]int{0.99: 0, 1: 1, 10: 1, 10.5: 2, 100: 10, 101: 11} {
		if got := h.Bin(v); got != want {
			t.Errorf("bin of %v is %d, want %d", v, got, want)
		}
	}
	same := baseline.NewHistogram([]float64{5, 5, 5})
	if same.Bin(5) != 1 || same.Bin(4) != 0 || same.Bin(6) != 2 || !cmp.Equal(len(same.Shares), 3) {
		t.Errorf("of equal values: %+v", same)
	}
}

func TestTotalVariation(t *testing.T) {
	for _, tc := range []struct {
		counts []int
		want   float64
	}{{[]int{2, 1, 1}, 0}, {[]int{0, 0, 0}, 0}, {[]int{0, 0, 9}, 0.75}, {[]int{4, 2, 2}, 0}, {[]int{1, 1, 0}, 0.25}} {
		if got := baseline.TotalVariation([]float64{0.5, 0.25, 0.25}, tc.counts); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", tc.counts, got, tc.want)
		}
	}
	if !strings.Contains(formatDoc(t), "reference.models") {
		t.Error("FORMAT.md does not know of references")
	}
}
