package observe

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/monitor"
)

func labelled(o monitor.LabelOptions) (*Observer, *fakeClock) {
	clock := &fakeClock{now: noon}
	return New(monitor.Options{Version: func() string { return "v1" }, Clock: clock, Labels: &o}), clock
}

func predict(o *Observer, all ...event.Prediction) {
	o.Batch(consumer.BatchStats{Version: "v1", Delivered: &event.Batch{Predictions: all}})
}

func wantLabels(t *testing.T, o *Observer, right, wrong, unmatched, refused int) {
	t.Helper()
	want := "# HELP rivulet_labels_total Labels read, by their result for this member's predictions.\n" +
		"# TYPE rivulet_labels_total counter\n"
	for _, of := range []struct {
		name string
		n    int
	}{{"refused", refused}, {"right", right}, {"unmatched", unmatched}, {"wrong", wrong}} {
		want += fmt.Sprintf("rivulet_labels_total{result=%q} %d\n", of.name, of.n)
	}
	if err := testutil.GatherAndCompare(o.metrics.registry, strings.NewReader(want), "rivulet_labels_total"); err != nil {
		t.Error(err)
	}
}

// Labels by name or index, before or after their predictions, each prediction once.
func TestLabelsMeetPredictions(t *testing.T) {
	o, clock := labelled(monitor.LabelOptions{Remember: 3, TTL: time.Hour})
	by := func(id string, class int) *event.Label { return &event.Label{ID: id, Class: class} }
	named := func(id, name string) *event.Label { return &event.Label{ID: id, Class: event.ByName, ClassName: name} }
	predict(o, event.Prediction{ID: "a", Class: 1, ClassName: "x", Probability: 1},
		event.Prediction{ID: "b", Class: 0, ClassName: "y", Probability: 0.5})
	o.Label(by("a", 1))
	o.Label(by("a", 0)) // again: waits, as a prediction may come
	o.Label(named("b", "x"))
	wantLabels(t, o, 1, 1, 0, 0)
	o.Label(named("early", "y"))
	o.Label(named("early", "z")) // the first one counts
	predict(o, event.Prediction{ID: "early", Class: 0, ClassName: "y", Probability: 0.5})
	wantLabels(t, o, 2, 1, 1, 0)
	got := observing(o, t)
	if got["labels"] != 3 || math.Abs(got["accuracy_ratio"]-2./3) > 1e-9 ||
		math.Abs(got["calibration_error_ratio"]) > 1e-9 {
		t.Errorf("%v", got) // at 0.5 one of two is right, at 1 all
	}
	for _, id := range []string{"p", "q", "r", "s"} { // a and p give way
		o.Label(by(id, 0))
	}
	wantLabels(t, o, 2, 1, 3, 0)
	clock.now = noon.Add(2 * time.Hour)
	predict(o, event.Prediction{ID: "s"}) // its label waited for too long
	o.RefuseLabel()
	wantLabels(t, o, 2, 1, 3, 1)
	if n := testutil.ToFloat64(o.metrics.retries.WithLabelValues(monitor.StageLabels)); n != 0 {
		t.Errorf("%v failures of reading labels", n)
	}
	o.RetryLabels()
	if n := testutil.ToFloat64(o.metrics.retries.WithLabelValues(monitor.StageLabels)); n != 1 {
		t.Errorf("%v failures of reading labels are counted, want 1", n)
	}
}

// The memory is bounded for any input, and so is the window.
func TestLabelsAreBounded(t *testing.T) {
	o, _ := labelled(monitor.LabelOptions{Remember: 100, TTL: time.Hour})
	for i := range 20000 {
		id := fmt.Sprint(i)
		predict(o, event.Prediction{ID: id, Class: i % 2, Probability: 0.75}, event.Prediction{ID: "other" + id})
		o.Label(&event.Label{ID: id, Class: 0})
		o.Label(&event.Label{ID: "nobody" + id})
	}
	l := o.labels
	if len(l.predictions.by) > 100 || len(l.waiting.by) > 100 || len(l.predictions.order) > 100 ||
		len(l.blocks) > windowBlocks {
		t.Errorf("%d predictions, %d labels, %d places, %d blocks", len(l.predictions.by), len(l.waiting.by),
			len(l.predictions.order), len(l.blocks))
	}
	got := observing(o, t)
	if n := got["labels"]; n <= (windowBlocks-1)*blockSize || n > windowBlocks*blockSize ||
		math.Abs(got["accuracy_ratio"]-0.5) > 1e-3 ||
		math.Abs(got["calibration_error_ratio"]-0.25) > 1e-3 {
		t.Errorf("%v", got)
	}
	wantLabels(t, o, 10000, 10000, 19900, 0)
}
