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

// LabelOptions bounds the predictions and labels that wait for their counterpart.
type LabelOptions struct {
	// Remember is the number of the last predictions, and of the last labels, that wait; TTL is how long they wait.
	Remember int
	TTL      time.Duration
}

// calibrationBins is the number of bins of the expected calibration error, as many as the trainer's.
const calibrationBins = 15

// calibrationTally counts labelled predictions in the bins of their probability.
type calibrationTally struct {
	count, right [calibrationBins]int
	confidence   [calibrationBins]float64
	n            int
}

// prediction is a prediction that waits for its label.
type prediction struct {
	class       int
	name        string
	probability float32
}

// labels compares predictions with labels, whichever comes first. Its memory is bounded by LabelOptions; the figures
// describe the last 3840 to 4096 predictions whose label came.
type labels struct {
	clock  consumer.Clock
	totals *prometheus.CounterVec

	mu          sync.Mutex
	predictions *Recent[prediction]
	waiting     *Recent[event.Label]
	blocks      []*calibrationTally
	matched     int // predictions whose label came, since the start
	right       int
}

// StageLabels is the stage of retries under which failures of reading labels are counted.
const StageLabels = "labels"

// Results of a label.
const (
	labelRight     = "right"
	labelWrong     = "wrong"
	labelUnmatched = "unmatched" // no prediction came in time
	labelRefused   = "refused"   // the record is not a label
)

func newLabels(o LabelOptions, clock consumer.Clock, registry *prometheus.Registry) *labels {
	l := &labels{clock: clock, predictions: NewRecent[prediction](o), waiting: NewRecent[event.Label](o),
		totals: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "labels_total",
			Help: "Labels read, by their result for this member's predictions."}, []string{"result"})}
	for _, result := range []string{labelRight, labelWrong, labelUnmatched, labelRefused} {
		l.totals.WithLabelValues(result)
	}
	registry.MustRegister(l.totals, l.collector())
	return l
}

// predicted takes published predictions.
func (l *labels) predicted(all []event.Prediction) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range all {
		p := prediction{all[i].Class, all[i].ClassName, all[i].Probability}
		if label, ok := l.waiting.Take(all[i].ID, now); ok {
			l.score(&label, p)
			continue
		}
		l.predictions.Put(strings.Clone(all[i].ID), p, now)
	}
}

// label takes the next label. Only the first label of a prediction counts, also where both come before the prediction.
func (l *labels) label(of *event.Label) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.predictions.Take(of.ID, now); ok {
		l.score(of, p)
		return
	}
	if l.waiting.Has(of.ID, now) || l.waiting.Put(strings.Clone(of.ID), *of, now) {
		l.totals.WithLabelValues(labelUnmatched).Inc()
	}
}

// score counts a labelled prediction. A class that the model does not have makes it wrong.
func (l *labels) score(of *event.Label, p prediction) {
	right := IsRight(of, p.class, p.name)
	result := labelWrong
	if n := len(l.blocks); n == 0 || l.blocks[n-1].n == blockSize {
		if n == windowBlocks {
			l.blocks = append(l.blocks[:0], l.blocks[1:]...)
		}
		l.blocks = append(l.blocks, &calibrationTally{})
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

// IsRight reports whether a label has the class that was predicted.
func IsRight(of *event.Label, class int, name string) bool {
	if of.ClassName != "" {
		return of.ClassName == name
	}
	return of.Class == class
}

// LabelFigures compare predictions with their labels.
type LabelFigures struct {
	Matched, Right int // predictions whose label came, and the right ones among them, since the start

	Window        int     // number of the last matched predictions, up to 3840 to 4096
	Accuracy, ECE float64 // of the window, 0 to 1; 0 if it is empty
}

// LabelFigures returns the current figures, the same as the metrics'. Options.Labels must have been set.
func (o *Observer) LabelFigures() LabelFigures {
	l := o.labels
	l.mu.Lock()
	defer l.mu.Unlock()
	f := LabelFigures{Matched: l.matched, Right: l.right}
	f.Accuracy, f.ECE, f.Window = l.figures()
	return f
}

// figures returns accuracy and expected calibration error (Guo et al., "On Calibration of Modern Neural Networks",
// 2017) of the window, both 0 to 1, and the number of its predictions.
func (l *labels) figures() (accuracy, ece float64, n int) {
	var all calibrationTally
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
	size := desc("labels", "Labelled predictions from which accuracy and calibration error are computed: the last 3840 to 4096.")
	accuracy := desc("accuracy_ratio", "Share of the labelled predictions that were right.")
	ece := desc("calibration_error_ratio", "Expected calibration error of the labelled predictions in 15 bins.")
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
