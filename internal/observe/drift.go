package observe

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"rivulet/artifact/baseline"
	"rivulet/consumer"
	"rivulet/internal/monitor"
)

// The window holds the last predictions of one version of the artifact: between windowBlocks-1 and windowBlocks full
// blocks. Its memory is a few counters a block.
const (
	windowBlocks = 16
	blockSize    = 256 // predictions
)

// block holds the figures of a part of the stream.
type block struct {
	predictions, arrivals    int
	classified               int // predictions of classes or labels
	neighbours, unknown      int
	confidence               float64
	classes, norms, nonZeros []int
	named                    map[string][]int // places of the reference's named features
}

// drift compares the stream with the reference of the version that serves it.
type drift struct {
	reference func(version string) (monitor.Reference, bool)

	mu      sync.Mutex
	version string
	against monitor.Reference
	known   bool // there is a reference
	blocks  []*block
}

func newDrift(reference func(version string) (monitor.Reference, bool)) *drift {
	return &drift{reference: reference}
}

// batch counts a delivered batch. A batch of another version begins the window anew, because its
// reference is another one.
func (d *drift) batch(s *consumer.BatchStats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Version != d.version {
		d.version, d.blocks = s.Version, nil
		d.against, d.known = d.reference(s.Version)
	}
	b := d.block()
	b.neighbours += s.Known + s.Arrivals + s.InBatch + s.Unknown
	b.unknown += s.Unknown
	for i := range s.Delivered.Predictions {
		p := &s.Delivered.Predictions[i]
		b.predictions++
		if len(p.Numbers) > 0 || p.Links != nil { // has neither class nor confidence
			continue
		}
		b.classified++
		b.confidence += float64(p.Probability)
		if p.Labels != nil {
			for _, label := range p.Labels {
				b.count(label.Class)
			}
			continue
		}
		b.count(p.Class)
	}
	if !d.known {
		return
	}
	for _, m := range s.Measures {
		b.arrivals++
		b.norms[d.against.FeatureNorm.Bin(float64(m.Norm))]++
		b.nonZeros[d.against.FeatureCount.Bin(float64(m.Count))]++
		for k, v := range m.Named {
			if of, measured := d.against.Named[s.Named[k]]; measured {
				b.named[s.Named[k]][of.Bin(float64(v))]++
			}
		}
	}
}

// count counts a class, or one of the labels of a prediction.
func (b *block) count(class int) {
	if class < len(b.classes) {
		b.classes[class]++
	}
}

// block returns the block that is being filled.
func (d *drift) block() *block {
	if n := len(d.blocks); n > 0 && d.blocks[n-1].predictions < blockSize {
		return d.blocks[n-1]
	}
	if len(d.blocks) == windowBlocks {
		d.blocks = append(d.blocks[:0], d.blocks[1:]...)
	}
	b := &block{classes: make([]int, len(d.against.Models[d.against.Model].Classes)),
		norms:    make([]int, len(d.against.FeatureNorm.Shares)),
		nonZeros: make([]int, len(d.against.FeatureCount.Shares)), named: make(map[string][]int, len(d.against.Named))}
	for name, of := range d.against.Named {
		b.named[name] = make([]int, len(of.Shares))
	}
	d.blocks = append(d.blocks, b)
	return b
}

// sum returns the sum over the whole window.
func (d *drift) sum() *block {
	all := &block{named: map[string][]int{}}
	add := func(to *[]int, of []int) {
		if *to == nil {
			*to = make([]int, len(of))
		}
		for k, n := range of {
			(*to)[k] += n
		}
	}
	for _, b := range d.blocks {
		all.predictions += b.predictions
		all.classified += b.classified
		all.arrivals += b.arrivals
		all.neighbours += b.neighbours
		all.unknown += b.unknown
		all.confidence += b.confidence
		add(&all.classes, b.classes)
		add(&all.norms, b.norms)
		add(&all.nonZeros, b.nonZeros)
		for name, counts := range b.named {
			sum := all.named[name]
			add(&sum, counts)
			all.named[name] = sum
		}
	}
	return all
}

// collector returns the metrics of the window, without figures that have no data yet, or nothing to compare with in
// training.
func (d *drift) collector() prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_window_"+name, help, labels, nil)
	}
	size := desc("predictions",
		"Predictions in the window of the figures of drift: the last 3840 to 4096 of the version that serves.")
	confidence := desc("confidence", "Mean probability of the predicted class.")
	unknown := desc("unknown_neighbours_ratio", "Share of the arrivals' neighbours that are unknown.")
	classes := desc("class_distance_ratio",
		"Total variation distance of the predicted classes from training's validation nodes, 0 to 1.")
	features := desc("feature_distance_ratio",
		"Total variation distance of the arrivals' features from training's validation nodes, 0 to 1.", "feature")
	named := desc("named_feature_distance_ratio",
		"The same of each feature of the artifact's schema, at most 64, and of the others together.", "feature")
	was := desc("reference_confidence", "Mean probability of the predicted class at training.")
	wasRight := desc("reference_accuracy_ratio", "Share of the validation nodes that were predicted right at training.")
	wasUnknown := desc("reference_unknown_neighbours_ratio", "Share of unknown neighbours at training.")
	return collectorFunc{[]*prometheus.Desc{size, confidence, unknown, classes, features, named, was, wasRight,
		wasUnknown},
		func(ch chan<- prometheus.Metric) {
			d.mu.Lock()
			defer d.mu.Unlock()
			gauge := func(of *prometheus.Desc, v float64, labels ...string) {
				ch <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, v, labels...)
			}
			all := d.sum()
			gauge(size, float64(all.predictions))
			if all.classified > 0 {
				gauge(confidence, all.confidence/float64(all.classified))
			}
			if all.neighbours > 0 {
				gauge(unknown, float64(all.unknown)/float64(all.neighbours))
			}
			if !d.known {
				return
			}
			gauge(wasUnknown, d.against.UnknownNeighbours)
			if all.arrivals > 0 {
				gauge(features, baseline.TotalVariation(d.against.FeatureNorm.Shares, all.norms), "norm")
				gauge(features, baseline.TotalVariation(d.against.FeatureCount.Shares, all.nonZeros), "non_zeros")
				for name, of := range d.against.Named {
					gauge(named, baseline.TotalVariation(of.Shares, all.named[name]), name)
				}
			}
			if model, ok := d.against.Models[d.against.Model]; ok {
				gauge(was, model.Confidence)
				gauge(wasRight, model.Accuracy/100)
				if all.predictions > 0 {
					gauge(classes, baseline.TotalVariation(model.Classes, all.classes))
				}
			}
		}}
}
