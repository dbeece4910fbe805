package observe

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/infer/target"
	"rivulet/internal/monitor"
)

// calibrationBins is the number of bins of the expected calibration error, as many as the trainer's.
const calibrationBins = 15

// calibrationTally counts labelled predictions in the bins of their probability.
type calibrationTally struct {
	count, right [calibrationBins]int
	confidence   [calibrationBins]float64
	n            int
	labels       target.F1 // of predictions of labels, which are in no bin
}

// prediction is a prediction that waits for its label.
type prediction struct {
	class       int
	name        string
	probability float32
	labels      []event.Score // of a task of labels; nil: the task is classes
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
}

// Results of a label.
const (
	labelRight     = "right"
	labelWrong     = "wrong"
	labelUnmatched = "unmatched" // no prediction came in time
	labelRefused   = "refused"   // the record is not a label
)

func newLabels(o monitor.LabelOptions, clock consumer.Clock, registry prometheus.Registerer) *labels {
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
		p := prediction{all[i].Class, all[i].ClassName, all[i].Probability, slices.Clone(all[i].Labels)}
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

// score counts a labelled prediction. A class that the model does not have makes it wrong. A prediction of labels is
// right if it has the same labels.
func (l *labels) score(of *event.Label, p prediction) {
	result := labelWrong
	if n := len(l.blocks); n == 0 || l.blocks[n-1].n == blockSize {
		if n == windowBlocks {
			l.blocks = append(l.blocks[:0], l.blocks[1:]...)
		}
		l.blocks = append(l.blocks, &calibrationTally{})
	}
	b := l.blocks[len(l.blocks)-1]
	b.n++
	if p.labels != nil {
		counts := compareLabels(p.labels, of)
		if b.labels.Add(counts); counts.Right == max(counts.Predicted, counts.True) {
			result = labelRight
		}
		l.totals.WithLabelValues(result).Inc()
		return
	}
	bin := max(0, min(calibrationBins-1, int(float64(p.probability)*calibrationBins)))
	b.count[bin]++
	b.confidence[bin] += float64(p.probability)
	if IsRight(of, p.class, p.name) {
		result = labelRight
		b.right[bin]++
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

// compareLabels compares the labels that are said of a node with those that it has: names with [target.Mark] between,
// or the index of one.
func compareLabels(said []event.Score, of *event.Label) target.F1 {
	counts := target.F1{Predicted: len(said), True: 1}
	if of.ClassName == "" {
		if slices.ContainsFunc(said, func(s event.Score) bool { return s.Class == of.Class }) {
			counts.Right = 1
		}
		return counts
	}
	counts.True = 0
	for name := range strings.SplitSeq(of.ClassName, target.Mark) {
		if name = strings.TrimSpace(name); name != "" {
			counts.Count(false, true)
			if slices.ContainsFunc(said, func(s event.Score) bool { return s.Name == name }) {
				counts.Right++
			}
		}
	}
	return counts
}

// figures returns accuracy and expected calibration error (Guo et al., "On Calibration of Modern Neural Networks",
// 2017) of the window, both 0 to 1, and the number of its predictions.
func (l *labels) figures() (accuracy, ece float64, n int) {
	var all calibrationTally
	for _, b := range l.blocks {
		all.n += b.n
		all.labels.Add(b.labels)
		for k := range calibrationBins {
			all.count[k] += b.count[k]
			all.right[k] += b.right[k]
			all.confidence[k] += b.confidence[k]
		}
	}
	if all.labels.Predicted+all.labels.True > 0 {
		return all.labels.Ratio(), 0, all.n
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
	size := desc("labels", "Labelled predictions from which accuracy and calibration error are computed: the last 3840 "+
		"to 4096.")
	accuracy := desc("accuracy_ratio",
		"Share of the labelled predictions that were right; of predictions of labels their micro F1.")
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
