package observe

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rivulet/consumer"
	"rivulet/event"
)

// LabelOptions bound what waits for its other half.
type LabelOptions struct {
	// Remember is how many of the last predictions, and of the last labels, wait; TTL for how long.
	Remember int
	TTL      time.Duration
}

// calibrationBins are those of the expected calibration error, as many as the trainer's.
const calibrationBins = 15

// scored are labelled predictions in the bins of their probability.
type scored struct {
	count, right [calibrationBins]int
	confidence   [calibrationBins]float64
	n            int
}

// prediction is what waits for a label.
type prediction struct {
	class       int
	name        string
	probability float32
}

// labels compares predictions with labels, whichever comes first. Its memory is bounded by LabelOptions; the figures are of
// the last 3840 to 4096 predictions whose label came.
type labels struct {
	clock  consumer.Clock
	totals *prometheus.CounterVec

	mu          sync.Mutex
	predictions *recent[prediction]
	waiting     *recent[event.Label]
	blocks      []*scored
	matched     int // predictions whose label came, since the start
	right       int
}

// Results of a label.
const (
	labelRight     = "right"
	labelWrong     = "wrong"
	labelUnmatched = "unmatched" // no prediction came in time
	labelRefused   = "refused"   // the record is no label
)

func newLabels(o LabelOptions, clock consumer.Clock, registry *prometheus.Registry) *labels {
	l := &labels{clock: clock, predictions: newRecent[prediction](o), waiting: newRecent[event.Label](o),
		totals: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "labels_total",
			Help: "Labels read, by what they say of this member's predictions."}, []string{"result"})}
	for _, result := range []string{labelRight, labelWrong, labelUnmatched, labelRefused} {
		l.totals.WithLabelValues(result)
	}
	registry.MustRegister(l.totals, l.collector())
	return l
}

// predicted takes what was published.
func (l *labels) predicted(all []event.Prediction) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range all {
		p := prediction{all[i].Class, all[i].ClassName, all[i].Probability}
		if label, ok := l.waiting.take(all[i].ID, now); ok {
			l.score(&label, p)
			continue
		}
		l.predictions.put(all[i].ID, p, now)
	}
}

// label takes the next label. The first one of a prediction counts.
func (l *labels) label(of *event.Label) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.predictions.take(of.ID, now); ok {
		l.score(of, p)
		return
	}
	if l.waiting.put(strings.Clone(of.ID), *of, now) {
		l.totals.WithLabelValues(labelUnmatched).Inc()
	}
}

// score counts a labelled prediction. A class that the model does not have makes it wrong.
func (l *labels) score(of *event.Label, p prediction) {
	right := of.Class == p.class
	if of.ClassName != "" {
		right = of.ClassName == p.name
	}
	result := labelWrong
	if n := len(l.blocks); n == 0 || l.blocks[n-1].n == blockSize {
		if n == windowBlocks {
			l.blocks = append(l.blocks[:0], l.blocks[1:]...)
		}
		l.blocks = append(l.blocks, &scored{})
	}
	b := l.blocks[len(l.blocks)-1]
	bin := max(0, min(calibrationBins-1, int(float64(p.probability)*calibrationBins)))
	b.n++
	b.count[bin]++
	b.confidence[bin] += float64(p.probability)
	l.matched++
	if right {
		result = labelRight
		b.right[bin]++
		l.right++
	}
	l.totals.WithLabelValues(result).Inc()
}

// LabelFigures are what labels say of predictions.
type LabelFigures struct {
	Matched, Right int // predictions whose label came, and those of them that it said were right, since the start

	Window        int     // the last 3840 to 4096 of them, or all of fewer
	Accuracy, ECE float64 // of the window, 0 to 1; 0 where it is empty
}

// LabelFigures are the figures so far, those that the metrics have. Options.Labels must have been set.
func (o *Observer) LabelFigures() LabelFigures {
	l := o.labels
	l.mu.Lock()
	defer l.mu.Unlock()
	f := LabelFigures{Matched: l.matched, Right: l.right}
	f.Accuracy, f.ECE, f.Window = l.figures()
	return f
}

// figures are accuracy and expected calibration error (Guo et al., "On Calibration of Modern Neural Networks", 2017) of the
// window, both 0 to 1, and of how many predictions they are.
func (l *labels) figures() (accuracy, ece float64, n int) {
	var all scored
	for _, b := range l.blocks {
		all.n += b.n
		for k := range calibrationBins {
			all.count[k] += b.count[k]
			all.right[k] += b.right[k]
			all.confidence[k] += b.confidence[k]
		}
	}
	for k := range calibrationBins {
		accuracy += float64(all.right[k])
		ece += math.Abs(float64(all.right[k]) - all.confidence[k])
	}
	size := float64(max(1, all.n))
	return accuracy / size, ece / size, all.n
}

func (l *labels) collector() prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_window_"+name, help, nil, nil)
	}
	size := desc("labels", "Labelled predictions that accuracy and calibration error are of: the last 3840 to 4096.")
	accuracy := desc("accuracy_ratio", "Share of them that were right.")
	ece := desc("calibration_error_ratio", "Their expected calibration error in 15 bins.")
	return collectorFunc{[]*prometheus.Desc{size, accuracy, ece}, func(ch chan<- prometheus.Metric) {
		l.mu.Lock()
		defer l.mu.Unlock()
		a, e, n := l.figures()
		ch <- prometheus.MustNewConstMetric(size, prometheus.GaugeValue, float64(n))
		if n > 0 {
			ch <- prometheus.MustNewConstMetric(accuracy, prometheus.GaugeValue, a)
			ch <- prometheus.MustNewConstMetric(ece, prometheus.GaugeValue, e)
		}
	}}
}

// recent remembers the last values by id.
type recent[V any] struct {
	ttl   time.Duration
	by    map[string]remembered[V]
	order []place // a ring: the ids in the order in which they came
	next  int
	count uint64
}

type remembered[V any] struct {
	value V
	since time.Time
	count uint64
}

type place struct {
	id    string
	count uint64
}

// newRecent grows with what it holds, up to o.Remember.
func newRecent[V any](o LabelOptions) *recent[V] {
	return &recent[V]{ttl: o.TTL, by: map[string]remembered[V]{}, order: make([]place, 0, o.Remember)}
}

// put remembers a value, and forgets the one that came longest ago where there is no room; lost says that it, or an earlier
// one of this id, was still there.
func (r *recent[V]) put(id string, v V, now time.Time) (lost bool) {
	_, lost = r.by[id]
	r.count++
	at := place{id, r.count}
	if len(r.order) < cap(r.order) {
		r.order = append(r.order, at)
	} else {
		old := r.order[r.next]
		if r.by[old.id].count == old.count {
			delete(r.by, old.id)
			lost = true
		}
		r.order[r.next] = at
		r.next = (r.next + 1) % len(r.order)
	}
	r.by[id] = remembered[V]{v, now, r.count}
	return lost
}

// take returns the value of an id, unless it has waited for too long, and forgets it.
func (r *recent[V]) take(id string, now time.Time) (V, bool) {
	got, ok := r.by[id]
	delete(r.by, id)
	return got.value, ok && now.Sub(got.since) <= r.ttl
}
