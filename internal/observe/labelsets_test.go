package observe

import (
	"maps"
	"math"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/internal/monitor"
)

// Labels of several names are compared as sets: the live accuracy is micro F1, and a prediction is right if it has all
// labels and no other.
func TestSeveralLabelsMeetPredictions(t *testing.T) {
	o, _ := labelled(monitor.LabelOptions{Remember: 9, TTL: time.Hour})
	said := func(names ...string) []event.Score {
		out := []event.Score{}
		for _, name := range names {
			out = append(out, event.Score{Class: int(name[0] - 'x'), Name: name, Probability: 0.75})
		}
		return out
	}
	predict(o, event.Prediction{ID: "a", Labels: said("x", "y")}, event.Prediction{ID: "b", Labels: said("y")},
		event.Prediction{ID: "none", Labels: said()}, event.Prediction{ID: "d", Labels: said("z")})
	for id, names := range map[string]string{"a": " x;y", "b": "y; z", "none": ";"} {
		o.Label(&event.Label{ID: id, Class: event.ByName, ClassName: names})
	}
	o.Label(&event.Label{ID: "d", Class: 2})
	o.Label(&event.Label{ID: "late", Class: event.ByName, ClassName: "x"})
	predict(o, event.Prediction{ID: "late", Labels: said("y")})
	wantLabels(t, o, 3, 2, 0, 0)
	got := observing(o, t) // said 5, true 6, right 4
	if math.Abs(got["accuracy_ratio"]-2*4./11) > 1e-9 || got["labels"] != 5 {
		t.Errorf("%v", got)
	}
}

// Of predictions of labels each label counts for drift, and their confidence as a probability does.
func TestDriftOfLabels(t *testing.T) {
	o := New(monitor.Options{Version: func() string { return "v1" },
		Reference: func(string) (monitor.Reference, bool) { return trained(), true }})
	s := like("v1", 10, 0)
	for i := range s.Delivered.Predictions {
		s.Delivered.Predictions[i] = event.Prediction{Probability: 0.75, Labels: []event.Score{{Class: 0}, {Class: 1}}}
	}
	o.Batch(s)
	if got := observing(o, t); got["confidence"] != 0.75 || got["class_distance_ratio"] != half(trained()) {
		t.Errorf("%v", maps.Clone(got))
	}
}

// half is the distance of classes 0 and 1, of equal share, from a reference.
func half(r monitor.Reference) float64 {
	distance := 0.0
	for k, share := range r.Models[r.Model].Classes {
		if k < 2 {
			share -= 0.5
		}
		distance += math.Abs(share) / 2
	}
	return distance
}
