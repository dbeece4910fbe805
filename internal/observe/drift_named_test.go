package observe

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"rivulet/artifact/baseline"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/monitor"
)

// Each named feature has a distance of its own: one that has moved is seen, and another one is not.
func TestDriftByFeatureName(t *testing.T) {
	half := baseline.Histogram{Bounds: []float64{0.5}, Shares: []float64{0.5, 0.5}}
	d := newDrift(func(string) (monitor.Reference, bool) {
		return monitor.Reference{Reference: baseline.Reference{Nodes: 4, FeatureNorm: half, FeatureCount: half,
			Named: map[string]baseline.Histogram{"age": half, "plan": half}}}, true
	})
	s := consumer.BatchStats{Version: "v1", Named: []string{"age", "plan", "new"}, Delivered: &event.Batch{}}
	for i := range 100 {
		s.Delivered.Predictions = append(s.Delivered.Predictions, event.Prediction{})
		s.Measures = append(s.Measures, consumer.Measure{Named: []float32{float32(i % 2), 1, 7}})
	}
	d.batch(&s)
	got := map[string]float64{}
	for name, counts := range d.sum().named {
		got[name] = baseline.TotalVariation(d.against.Named[name].Shares, counts)
	}
	if len(got) != 2 || got["age"] != 0 || got["plan"] != 0.5 {
		t.Errorf("distances %v, want 0 of age and 0.5 of plan", got)
	}
	if n := testutil.CollectAndCount(d.collector(), "rivulet_window_named_feature_distance_ratio"); n != 2 {
		t.Errorf("%d series", n)
	}
}
