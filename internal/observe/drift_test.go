package observe

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"rivulet/artifact/baseline"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/monitor"
	"rivulet/test/expect"
)

// trained returns a reference of two classes; norms and counts are 1 to 10.
func trained() monitor.Reference {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	return monitor.Reference{Model: "sgc", Reference: baseline.Reference{Nodes: 10, UnknownNeighbours: 0.125,
		FeatureNorm:  baseline.NewHistogram(values),
		Named:        map[string]baseline.Histogram{"age": baseline.NewHistogram(values)},
		FeatureCount: baseline.NewHistogram(values),
		Models: map[string]baseline.ModelReference{"sgc": {Confidence: 0.75, Accuracy: 80,
			Classes: []float64{0.5, 0.5}}}}}
}

// like returns a batch of n arrivals like those of training, shifted; every other one is of the first class.
func like(version string, n int, shift float32) consumer.BatchStats {
	s := consumer.BatchStats{Version: version, Known: 3 * n, Unknown: n, Delivered: &event.Batch{}}
	for i := range n {
		s.Delivered.Predictions = append(s.Delivered.Predictions, event.Prediction{Class: i % 2, Probability: 0.5})
		s.Measures = append(s.Measures, consumer.Measure{Norm: float32(i%10) + 1 + shift, Count: int32(i%10) + 1})
	}
	return s
}

func observing(o *Observer, t *testing.T) map[string]float64 {
	t.Helper()
	families, err := o.metrics.registry.Gather()
	expect.OK(t, err)
	got := map[string]float64{}
	for _, f := range families {
		if name, ok := strings.CutPrefix(f.GetName(), namespace+"_window_"); ok {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				got[name] = m.GetGauge().GetValue()
				name, _, _ = strings.Cut(name, " ")
			}
		}
	}
	return got
}

// Numbers have neither a class nor a confidence, and training measured none: the metrics of both are absent.
func TestDriftOfNumbers(t *testing.T) {
	for _, p := range []event.Prediction{{Numbers: []event.Number{{Name: "price", Value: 7}}}, {Links: []event.Link{}}} {
		driftWithoutClasses(t, p)
	}
}

func driftWithoutClasses(t *testing.T, p event.Prediction) {
	o := New(monitor.Options{Version: func() string { return "v1" }, Reference: func(string) (monitor.Reference, bool) {
		r := trained()
		r.Models = nil
		return r, true
	}})
	s := like("v1", 10, 0)
	for i := range s.Delivered.Predictions {
		s.Delivered.Predictions[i] = p
	}
	o.Batch(s)
	want := map[string]float64{"predictions": 10, "unknown_neighbours_ratio": 0.25,
		"reference_unknown_neighbours_ratio": 0.125, "feature_distance_ratio norm": 0,
		"feature_distance_ratio non_zeros": 0, "named_feature_distance_ratio age": 0}
	if got := observing(o, t); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDrift(t *testing.T) {
	o := New(monitor.Options{Version: func() string {
		return "v1"
	}, Reference: func(version string) (monitor.Reference, bool) { return trained(), version != "old" }})
	check := func(when string, want map[string]float64) {
		t.Helper()
		got := observing(o, t)
		for name, v := range want {
			if g, ok := got[name]; !ok || math.Abs(g-v) > 1e-9 {
				t.Errorf("%s: %s is %v (%t), want %v", when, name, g, ok, v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %v, want %v", when, got, want)
		}
	}
	check("before anything", map[string]float64{"predictions": 0})
	reference := map[string]float64{"reference_confidence": 0.75, "reference_accuracy_ratio": 0.8,
		"reference_unknown_neighbours_ratio": 0.125}
	with := func(more map[string]float64) map[string]float64 {
		for k, v := range reference {
			more[k] = v
		}
		return more
	}
	o.Batch(like("v1", 100, 0))
	check("as at training", with(map[string]float64{"predictions": 100, "confidence": 0.5,
		"unknown_neighbours_ratio": 0.25,
		"class_distance_ratio":     0, "feature_distance_ratio norm": 0, "named_feature_distance_ratio age": 0,
		"feature_distance_ratio non_zeros": 0}))
	shifted := like("v1", 100, 100)
	for i := range shifted.Delivered.Predictions {
		shifted.Delivered.Predictions[i].Class = 1
	}
	o.Batch(shifted)
	check("half of it elsewhere", with(map[string]float64{"predictions": 200, "confidence": 0.5,
		"unknown_neighbours_ratio": 0.25,
		"class_distance_ratio":     0.25, "feature_distance_ratio norm": 0.5, "named_feature_distance_ratio age": 0,
		"feature_distance_ratio non_zeros": 0}))
	for range 2 * windowBlocks { // batches before the window do not count
		o.Batch(like("v1", blockSize+4, 0))
	}
	if got := observing(o, t); got["predictions"] != windowBlocks*(blockSize+4) ||
		got["feature_distance_ratio norm"] > 0.01 {
		t.Errorf("a window later: %v", got)
	}
	o.Batch(like("v2", 10, 0))
	check("another version", with(map[string]float64{"predictions": 10, "confidence": 0.5,
		"unknown_neighbours_ratio": 0.25,
		"class_distance_ratio":     0, "feature_distance_ratio norm": 0, "named_feature_distance_ratio age": 0,
		"feature_distance_ratio non_zeros": 0}))
	o.Batch(like("old", 10, 0))
	check("a version without a reference", map[string]float64{"predictions": 10, "confidence": 0.5,
		"unknown_neighbours_ratio": 0.25})
	if problems, err := testutil.GatherAndLint(o.metrics.registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
