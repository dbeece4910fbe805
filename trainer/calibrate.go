package trainer

import (
	"context"
	"math"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Hyperparameters of propagation that validation chooses from (ALGORITHM.md, section 6).
var (
	alphas = []float32{.1, .3, .5, .7, .9}
	gammas = []float32{0, .1, .25, .5, 1, 2}
)

var propagationKinds = []string{infer.PropagateLabels, infer.PropagateErrors}

// propagationGain is the accuracy in points that propagation must gain on the support nodes to be switched on: less is
// within the noise of their number.
const propagationGain = 0.5

// propagation is one kind with its tables of S and what validation chose.
type propagation struct {
	info       artifact.PropagationInfo
	tables     *infer.Tables
	validation float64
}

// calibration is what validation chose for a model on S: a temperature, both propagations, and which of them is on.
type calibration struct {
	kind        string
	temperature float32 // τ without propagation; each kind has its own
	kinds       map[string]*propagation
	validation  float64 // accuracy without propagation
}

// calibrate chooses on the support nodes, attached to S by the frozen deployment of a model.
func (t *task) calibrate(ctx context.Context, m infer.Model, tables *infer.Tables, through *mapping) (*calibration, error) {
	support := t.support.On(through.rows)
	answer := eval.Run(plain(m.Frozen(tables, t.pre)), support)
	out := &calibration{kind: infer.PropagateNone, kinds: map[string]*propagation{}, validation: answer.Accuracy(support)}
	out.temperature = bestTemperature(answer.Logits, nil, 0, support.Labels)
	best := out.validation + propagationGain
	for _, kind := range propagationKinds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := t.choosePropagation(kind, m, answer, support, through)
		if err != nil {
			return nil, err
		}
		out.kinds[kind] = p
		if p.validation >= best && p.info.Gamma > 0 {
			out.kind, best = kind, p.validation
		}
	}
	return out, nil
}

// seeds are F0 of a kind on T.
func (t *task) seeds(kind string, m infer.Model) *graph.Dense {
	if kind == infer.PropagateLabels {
		return infer.LabelSeeds(t.original.Labels, t.classes())
	}
	return infer.ErrorSeeds(t.original.Labels, t.logitsOnT(m))
}

// choosePropagation takes the α and γ of the highest accuracy on the support nodes, of equals the smallest γ.
func (t *task) choosePropagation(kind string, m infer.Model, answer *eval.Answer, support *eval.Set, through *mapping) (*propagation, error) {
	var best *propagation
	var spread []*graph.Dense // F of the best α
	seeds := t.seeds(kind, m)
	for _, alpha := range alphas {
		tables, err := through.tables.Fit(infer.PropagationTables(t.original.Adj, seeds, alpha))
		if err != nil {
			return nil, err
		}
		deployed := infer.FrozenPropagation(tables, alpha, kind == infer.PropagateLabels)
		var f []*graph.Dense
		for _, b := range support.Batches {
			f = append(f, deployed.Propagate(b))
		}
		for _, gamma := range gammas {
			c := infer.Calibration{Temperature: 1, Kind: kind, Alpha: alpha, Gamma: gamma}
			accuracy := mixedAccuracy(c, answer.Logits, f, support.Labels)
			if best == nil || accuracy > best.validation {
				info := artifact.PropagationInfo{Alpha: alpha, Gamma: gamma, Temperature: 1}
				best, spread = &propagation{info, tables, accuracy}, f
			}
		}
	}
	best.info.Temperature = bestTemperature(answer.Logits, spread, best.info.Gamma, support.Labels)
	return best, nil
}

// mixedAccuracy is the accuracy in percent of s = softmax(logits/τ) + γF.
func mixedAccuracy(c infer.Calibration, logits, f []*graph.Dense, labels [][]int32) float64 {
	right, n := 0, 0
	for b := range logits {
		s := c.Probabilities(logits[b], f[b])
		for i, y := range labels[b] {
			if infer.ArgMax(s.Row(i)) == int(y) {
				right++
			}
			n++
		}
	}
	return 100 * float64(right) / float64(max(1, n))
}

// bestTemperature is the τ of the smallest negative log-likelihood of the published probabilities, by golden section on
// log τ between 1/20 and 20 (Guo et al., "On Calibration of Modern Neural Networks", 2017). f may be nil.
func bestTemperature(logits, f []*graph.Dense, gamma float32, labels [][]int32) float32 {
	loss := func(logTau float64) float64 {
		return logLoss(infer.Calibration{Temperature: float32(math.Exp(logTau)), Gamma: gamma}, logits, f, labels)
	}
	const golden = 0.6180339887498949
	lo, hi := -math.Log(20), math.Log(20)
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fb := loss(a), loss(b)
	for hi-lo > 1e-3 {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa = loss(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb = loss(b)
		}
	}
	return float32(math.Exp((lo + hi) / 2))
}

// logLoss is the sum of −log of the probability that is published for the true class, which counts as at least 1e-12.
func logLoss(c infer.Calibration, logits, f []*graph.Dense, labels [][]int32) float64 {
	total := 0.0
	for b := range logits {
		var spread *graph.Dense
		if f != nil {
			spread = f[b]
		}
		p := c.Probabilities(logits[b], spread)
		for i, y := range labels[b] {
			total -= math.Log(math.Max(float64(p.Row(i)[y]), 1e-12))
		}
	}
	return total
}
