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
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
)

// Most terms that are removed ([Term.Without]), the largest ones.
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
	// Share is the term's part of the logit at the arrival's own degree (docs/algorithm.md, section 10); 0 of models that
	// are not linear.
	Share Figure
	// Without is by how much the logit falls if the term is removed, the arrival's degree included: the model answers
	// again. Removed says that it did.
	Without Figure
	Removed bool
	// Through are the synthetic nodes that a neighbour's share comes through, largest first; they sum to it.
	Through []Through

	known bool    // a neighbour that the model reads
	size  float64 // |Share.Margin|; without shares a guess at |Without.Margin| until the term was removed
}

// Through is the part of a neighbour's share that one synthetic node carries.
type Through struct {
	Node  int
	Share Figure
}

// Explanation says why an arrival got its class, in raw logits before temperature.
type Explanation struct {
	Class, RunnerUp int    // the published class, and the other one with the largest logit; −1: there is only one class
	Logit           Figure // of the class, and its lead over the runner-up
	// Shares reports whether terms have shares: those of linear models in frozen attachment have. The shares of all terms
	// and of Own add up to Logit, to rounding.
	Shares         bool
	Bias, Centring Figure // shares of the model's bias, and of subtracting the mean of the features
	// Own is the part of the logit that the small model of own features adds ([perceptron.Expert]); nil: there is none.
	Own *Figure
	// Features that are not 0, Neighbours (all listed ids that could be known) and Batch, the arrivals of a graph batch
	// that the arrival has an edge to. Largest figure of the margin first: of Share, else of Without.
	Features, Neighbours, Batch []Term
	// Unknown neighbours aside, NotRemoved counts the terms that were not removed, as there are too many.
	NotRemoved int
	// ModelClass is the class with the largest logit. Model and Published are the probabilities of Class before and
	// after label or error propagation.
	ModelClass       int
	Propagation      string // the kind: none, lp or ep
	Model, Published float64
}

// Sum is the sum of all shares.
func (e *Explanation) Sum() Figure {
	sum := e.Bias
	sum.add(e.Centring)
	if e.Own != nil {
		sum.add(*e.Own)
	}
	for _, terms := range [][]Term{e.Features, e.Neighbours, e.Batch} {
		for i := range terms {
			sum.add(terms[i].Share)
		}
	}
	return sum
}

// Explainer explains the answers of one predictor. It is never changed by a batch and is safe for concurrent use.
type Explainer struct {
	predictor *infer.Predictor
	linear    *infer.Parts           // nil: the model has no shares
	slots     graph.Slots            // of the tables
	nodes     int                    // of S
	held      infer.Deployment       // the model, for features that were divided by their norm
	expert    *perceptron.Expert     // the small model of own features for the same; nil: there is none
	project   *preprocess.Projection // has that norm
	reach     int                    // as in [infer.HoldNorm]
	sizes     []float32              // of each feature the norm of its row of the first weights; nil: Strongest has shares
}

// New returns the explainer of a predictor by tables of slots, whose model is not to be exchanged later.
func New(p *infer.Predictor, slots graph.Slots) *Explainer {
	x := &Explainer{predictor: p, linear: infer.PartsOf(p.Model), slots: slots, nodes: p.Model.Nodes() / slots.Len(),
		expert: p.Expert.HoldNorm()}
	x.held, x.project, x.reach = infer.HoldNorm(p.Model)
	if x.linear != nil && x.expert == nil {
		return x
	}
	x.sizes = make([]float32, x.project.Weight.Rows)
	for f := range x.sizes {
		x.sizes[f] = float32(norm(x.project.Weight.Row(f)))
		if x.expert != nil {
			x.sizes[f] += float32(norm(x.expert.Projection().Weight.Row(f)))
		}
	}
	return x
}

func norm(row []float32) float64 {
	sum := 0.0
	for _, v := range row {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// Explain tells why arrival i of a batch got its class (docs/algorithm.md, section 10). rows are the rows of M that
// the batch was attached by ([attach.Attacher.Attach]), logits and probabilities the arrival's answer by Predict. It is
// for looking at single arrivals: it takes as long as some fifty predictions. The batch is not changed.
func (x *Explainer) Explain(b *attach.Batch, rows [][]attach.Row, i int, logits, probabilities []float32) *Explanation {
	p := x.predictor
	e := &Explanation{Class: graph.ArgMax(probabilities), ModelClass: graph.ArgMax(logits),
		Propagation: p.Calibration.Kind, Shares: x.linear != nil}
	e.RunnerUp = runnerUp(logits, e.Class)
	e.Logit = figure(logits, e.Class, e.RunnerUp)
	model := make([]float32, len(logits))
	graph.Softmax(model, logits, p.Calibration.Temperature)
	e.Model, e.Published = float64(model[e.Class]), float64(probabilities[e.Class])
	e.Own = x.own(b, i, e.Class, e.RunnerUp)
	if e.Shares {
		e.share(x, b, rows, i)
	} else {
		e.list(x, b, rows, i)
	}
	x.remove(e, b, rows, i, MostFeaturesRemoved, MostNeighboursRemoved)
	return e
}

// own are the logits that the small model of own features adds for arrival i; nil: there is none.
func (x *Explainer) own(b *attach.Batch, i, class, other int) *Figure {
	if x.predictor.Expert == nil {
		return nil
	}
	f := figure(x.predictor.Expert.Share(b, i), class, other)
	return &f
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

// share sets the terms of a linear model, with their shares.
func (e *Explanation) share(x *Explainer, b *attach.Batch, rows [][]attach.Row, i int) {
	s := shares{}
	s.begin(x, b, rows, i, e.Class, e.RunnerUp)
	e.Bias, e.Centring = s.bias(), s.centring()
	add := func(to *[]Term, t Term) {
		t.size = math.Abs(t.Share.Margin)
		*to = append(*to, t)
	}
	for at, col := range s.features() {
		add(&e.Features, Term{At: int(col), Share: s.feature(at)})
	}
	for at := range s.place.members[0].rows {
		row := &s.place.members[0].rows[at]
		t := Term{At: at, Through: s.through(row), known: row.Known}
		for _, through := range t.Through {
			t.Share.add(through.Share)
		}
		add(&e.Neighbours, t)
	}
	for at, j := range s.place.among(0) {
		add(&e.Batch, Term{At: int(j), Share: s.arrival(at)})
	}
}

// list sets the terms of a model without shares, each with a guess at how much it counts: a feature by how far it is
// from 0 in the first weights, a neighbour by its weights on S, an arrival of the batch by its edge's weight.
func (e *Explanation) list(x *Explainer, b *attach.Batch, rows [][]attach.Row, i int) {
	b.X.Each(i, func(c int, v float32) {
		if v != 0 {
			e.Features = append(e.Features, Term{At: c, size: math.Abs(float64(v)) * float64(x.sizes[c])})
		}
	})
	for at, row := range new(attach.Attacher).Read(rows[i:i+1], &x.slots, x.nodes)[0] {
		t := Term{At: at, known: row.Known}
		for _, v := range row.Vals {
			t.size += math.Abs(float64(v))
		}
		e.Neighbours = append(e.Neighbours, t)
	}
	if b.Adj == nil {
		return
	}
	among, weights := b.Adj.Row(i)
	for k, j := range among {
		t := Term{At: int(j), size: 1}
		if weights != nil {
			t.size = math.Abs(float64(weights[k]))
		}
		e.Batch = append(e.Batch, t)
	}
}

// order sorts all terms by their size, largest first.
func (e *Explanation) order() {
	for _, terms := range [][]Term{e.Features, e.Neighbours, e.Batch} {
		slices.SortFunc(terms, func(s, t Term) int { return cmp.Or(cmp.Compare(t.size, s.size), cmp.Compare(s.At, t.At)) })
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
