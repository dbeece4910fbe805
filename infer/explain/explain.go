package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// Most terms that get a second pass ([Term.Without]), by first-order size.
const (
	MostNeighboursRemoved = 32 // known neighbours and arrivals of the batch together
	MostFeaturesRemoved   = 16
)

// Figure is a number in logits: for the explained class, and its lead over the runner-up's.
type Figure struct{ Class, Margin float64 }

func (f Figure) less(g Figure) Figure { return Figure{f.Class - g.Class, f.Margin - g.Margin} }

func (f *Figure) add(g Figure) {
	f.Class += g.Class
	f.Margin += g.Margin
}

// Term is one thing that a prediction was made of.
type Term struct {
	// At is a feature's position, a neighbour's place in its arrival's list, or an arrival's place in the batch.
	At int
	// Share is the term's part of the logit at the arrival's own degree (docs/algorithm.md, section 10).
	Share Figure
	// Without is by how much the logit falls if the term is removed, the arrival's degree included, by a second pass of
	// the model. Removed says that the pass was made.
	Without Figure
	Removed bool
	// Through are the synthetic nodes that a neighbour's share comes through, largest first; they sum to it.
	Through []Through
}

// Through is the part of a neighbour's share that one synthetic node carries.
type Through struct {
	Node  int
	Share Figure
}

// Explanation says why an arrival got its class, in raw logits before temperature. The shares of all terms add up
// to Logit: to rounding, as relus, degrees and norm are held as they are.
type Explanation struct {
	Class, RunnerUp int    // the published class, and the other one with the largest logit; −1: there is only one class
	Logit           Figure // of the class, and its lead over the runner-up
	// Shares reports whether there are shares: frozen attachment has them, joint attachment has Without alone.
	Shares         bool
	Bias, Centring Figure // shares of the model's biases, and of subtracting the mean of the features
	// Own is the part of the expert of own features, nil if there is none. It is a part of the shares of Bias, Centring
	// and Features.
	Own *Figure
	// Features that are not 0, Neighbours (all listed ids that could be known) and Batch, the arrivals of a graph batch
	// that the arrival has an edge to. Largest share of the margin first; in joint attachment largest weights.
	Features, Neighbours, Batch []Term
	// Ties and unknown neighbours aside, NotRemoved counts the terms that got no second pass, as there are too many.
	NotRemoved int
	// ModelClass is the class with the largest logit. Model and Published are the probabilities of Class before and
	// after label or error propagation.
	ModelClass       int
	Propagation      string // the kind: none, lp or ep
	Model, Published float64
}

// Features' shares together, neighbours' and the batch's.
func (e *Explanation) sum(terms []Term) (sum Figure) {
	for i := range terms {
		sum.add(terms[i].Share)
	}
	return sum
}

// Sum is the sum of all shares.
func (e *Explanation) Sum() Figure {
	sum := e.Bias
	sum.add(e.Centring)
	for _, terms := range [][]Term{e.Features, e.Neighbours, e.Batch} {
		sum.add(e.sum(terms))
	}
	return sum
}

// Explainer explains the answers of one predictor. It is never changed by a batch and is safe for concurrent use.
type Explainer struct {
	predictor *infer.Predictor
	model     frozen // nil: the predictor's is joint
	nodes     int    // of S
}

// New returns the explainer of a predictor by tables of bins of weights, whose model is not to be exchanged later.
func New(p *infer.Predictor, bins *graph.Bins) *Explainer {
	return &Explainer{p, frozenOf(infer.PartsOf(p.Model)), p.Model.Nodes() / bins.Len()}
}

// Shares reports whether the predictor's model has shares: every frozen one does.
func (x *Explainer) Shares() bool { return x.model != nil }

// Explain tells why arrival i of a batch got its class (docs/algorithm.md, section 10). rows are the rows of M that
// the batch was attached by ([attach.Batch.Attach]), times the weights of edges ([attach.Attacher.Weigh]), logits and
// probabilities the arrival's answer by Predict. It is for looking at single arrivals: a second pass for each removal
// is some fifty forward passes. The batch is not changed.
func (x *Explainer) Explain(b *attach.Batch, rows [][]attach.Row, i int, logits, probabilities []float32) *Explanation {
	p := x.predictor
	e := &Explanation{Class: infer.ArgMax(probabilities), ModelClass: infer.ArgMax(logits),
		Propagation: p.Calibration.Kind}
	e.RunnerUp = runnerUp(logits, e.Class)
	e.Logit = figure(logits, e.Class, e.RunnerUp)
	model := make([]float32, len(logits))
	infer.Softmax(model, logits, p.Calibration.Temperature)
	e.Model, e.Published = float64(model[e.Class]), float64(probabilities[e.Class])
	if x.model != nil {
		e.Shares = true
		e.share(x, b, rows, i)
	} else {
		_, project := infer.HoldNorm(p.Model)
		e.list(project, b, rows, i)
	}
	if p.Expert != nil {
		own := p.Expert.Share(b, i)
		f := figure(own, e.Class, e.RunnerUp)
		e.Own = &f
	}
	for _, terms := range [][]Term{e.Features, e.Neighbours, e.Batch} {
		slices.SortStableFunc(terms, func(s, t Term) int {
			return cmp.Or(cmp.Compare(math.Abs(t.Share.Margin), math.Abs(s.Share.Margin)), cmp.Compare(s.At, t.At))
		})
	}
	x.remove(e, b, rows, i)
	return e
}

// runnerUp is the class with the largest logit, leaving out class but; −1: there is none.
func runnerUp(logits []float32, but int) int {
	best := -1
	for k, v := range logits {
		if k != but && (best < 0 || v > logits[best]) {
			best = k
		}
	}
	return best
}

// figure is a class's logit and its lead.
func figure(logits []float32, class, other int) Figure {
	f := Figure{float64(logits[class]), float64(logits[class])}
	if other >= 0 {
		f.Margin -= float64(logits[other])
	}
	return f
}

// share fills the terms of a frozen model.
func (e *Explanation) share(x *Explainer, b *attach.Batch, rows [][]attach.Row, i int) {
	s := decomposition{}
	s.begin(x, b, rows, i, e.Class, e.RunnerUp)
	e.Bias, e.Centring = s.bias(), s.centring()
	for at := range s.cols {
		e.Features = append(e.Features, Term{At: int(s.cols[at]), Share: s.feature(at)})
	}
	for at := range rows[i] {
		t := Term{At: at, Through: s.through(&rows[i][at])}
		for _, through := range t.Through {
			t.Share.add(through.Share)
		}
		e.Neighbours = append(e.Neighbours, t)
	}
	for at, j := range s.place.among(0) {
		e.Batch = append(e.Batch, Term{At: int(j), Share: s.arrival(at)})
	}
}

// list fills the terms without shares, in the order in which they are to be removed: features by how far they are
// from 0 in the first weights, neighbours by their weights on S.
func (e *Explanation) list(project *preprocess.Projection, b *attach.Batch, rows [][]attach.Row, i int) {
	cols, vals := notZero(b, i)
	w := project.Weight
	sizes := map[int]float64{}
	for at, c := range cols {
		sum := 0.0
		for _, v := range w.Row(int(c)) {
			sum += float64(v) * float64(v)
		}
		sizes[int(c)] = math.Abs(float64(vals[at])) * math.Sqrt(sum)
		e.Features = append(e.Features, Term{At: int(c)})
	}
	bySize := func(s, t Term) int { return cmp.Or(cmp.Compare(sizes[t.At], sizes[s.At]), cmp.Compare(s.At, t.At)) }
	slices.SortFunc(e.Features, bySize)
	clear(sizes)
	for at := range rows[i] {
		for _, v := range rows[i][at].Vals {
			sizes[at] += float64(v)
		}
		e.Neighbours = append(e.Neighbours, Term{At: at})
	}
	slices.SortFunc(e.Neighbours, bySize)
	if b.Adj != nil {
		among, _ := b.Adj.Row(i)
		for _, j := range among {
			e.Batch = append(e.Batch, Term{At: int(j)})
		}
	}
}

// String is a line about the propagation, empty where there is none.
func (e *Explanation) String() string {
	if e.Propagation == propagation.None {
		return ""
	}
	line := fmt.Sprintf("%s: probability %.4f before, %.4f after", strings.ToUpper(e.Propagation), e.Model, e.Published)
	if e.ModelClass != e.Class {
		line += fmt.Sprintf("; it changed the class from %d", e.ModelClass)
	}
	return line
}
