package eval

import (
	"math"

	"rivulet/graph"
	"rivulet/infer/target"
)

// Equal returns the share of nodes that have the same class in both lists, in percent; 100 for none.
func Equal(a, b []int32) float64 {
	if len(a) == 0 {
		return 100
	}
	same := 0
	for k := range a {
		if a[k] == b[k] {
			same++
		}
	}
	return 100 * float64(same) / float64(len(a))
}

// Bin counts the predictions whose probability is in one of the equal parts of [0, 1].
type Bin struct {
	Count      int     `json:"count"`
	Confidence float64 `json:"confidence"` // mean probability of the predicted class; 0 for an empty bin
	Accuracy   float64 `json:"accuracy"`   // share that is right; 0 for an empty bin
}

// ReliabilityBins is the number of bins of the expected calibration error (Guo et al., "On Calibration of Modern
// Neural Networks", 2017).
const ReliabilityBins = 15

// Reliability sorts the probabilities of predictions, n×C a batch, into bins: of classes that of the predicted class,
// of labels those of all labels. Accuracy of a bin is the share of them that is true. targets are those of the nodes;
// nil: they have classes alone.
func Reliability(task target.Task, probabilities []*graph.Dense, classes [][]int32, targets []*graph.Dense) []Bin {
	bins := newBins()
	for b, p := range probabilities {
		for i, y := range classes[b] {
			var truth []float32
			if targets != nil {
				truth = targets[b].Row(i)
			}
			task.Events(p.Row(i), y, truth, bins.count)
		}
	}
	return bins.means()
}

// binSums are bins whose confidence and accuracy are sums.
type binSums []Bin

func newBins() binSums { return make(binSums, ReliabilityBins) }

// count adds a probability of something that is true or not.
func (bins binSums) count(probability float32, is bool) {
	bin := &bins[min(ReliabilityBins-1, int(float64(probability)*ReliabilityBins))]
	bin.Count++
	bin.Confidence += float64(probability)
	if is {
		bin.Accuracy++
	}
}

// means divides the sums by the counts.
func (bins binSums) means() []Bin {
	for k := range bins {
		if n := float64(bins[k].Count); n > 0 {
			bins[k].Confidence /= n
			bins[k].Accuracy /= n
		}
	}
	return bins
}

// ECE returns the expected calibration error of bins in percent: the mean of |accuracy − confidence|, weighted by
// count.
func ECE(bins []Bin) float64 {
	sum, n := 0.0, 0
	for _, b := range bins {
		sum += float64(b.Count) * math.Abs(b.Accuracy-b.Confidence)
		n += b.Count
	}
	return 100 * sum / float64(max(1, n))
}
