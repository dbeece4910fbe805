package infer

import (
	"fmt"
	"math"
	"sync"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// Perceptron is a model that reads an arrival's own features and nothing of its neighbours. It has one layer, which is
// multinomial logistic regression, or two:
//
//	own(x) = pre(x) W1 + b1        own(x) = relu(pre(x) W1 + b1) W2 + b2
//
// A row of its logits depends on its own row of features alone, bit for bit, as those of [preprocess.Projection] do.
type Perceptron struct {
	layers  []Layer // Self and Bias of one or two
	project *preprocess.Projection
}

// CheckPerceptron returns an error if layers are not a perceptron's for d features and so many classes.
func CheckPerceptron(layers []Layer, d, classes int) error {
	if len(layers) != 1 && len(layers) != 2 {
		return fmt.Errorf("a perceptron of %d layers, want 1 or 2", len(layers))
	}
	in := d
	for k, l := range layers {
		if l.Self == nil || l.Neighbours != nil || l.Far != nil || l.Self.Rows != in || l.Self.Cols != l.Width() ||
			len(l.Self.Data) != in*l.Width() {
			return fmt.Errorf("layer %d of a perceptron has weights of %s and a bias of %d, want %d rows", k,
				shape(l.Self), l.Width(), in)
		}
		in = l.Width()
	}
	if in != classes {
		return fmt.Errorf("a perceptron for %d classes, want %d", in, classes)
	}
	return nil
}

// NewPerceptron returns the perceptron of these layers for raw features. Layers that do not fit one another panic.
func NewPerceptron(layers []Layer, pre *preprocess.Parameters) *Perceptron {
	if err := CheckPerceptron(layers, layers[0].Self.Rows, layers[len(layers)-1].Width()); err != nil {
		panic("infer: " + err.Error())
	}
	return &Perceptron{layers, pre.Fold(layers[0].Self)}
}

// Layers returns the weights. Nobody may write to them.
func (p *Perceptron) Layers() []Layer { return p.layers }

// Projection returns the projection onto the first weights. Nobody may write to it.
func (p *Perceptron) Projection() *preprocess.Projection { return p.project }

// Classes returns C.
func (p *Perceptron) Classes() int { return p.layers[len(p.layers)-1].Width() }

// Bytes is the memory of the weights.
func (p *Perceptron) Bytes() int64 {
	n := len(p.project.Weight.Data) + len(p.project.Offset)
	for k, l := range p.layers {
		if n += len(l.Bias); k > 0 {
			n += len(l.Self.Data)
		}
	}
	return int64(4 * n)
}

// Logits returns own(x) of raw features, n×C.
func (p *Perceptron) Logits(x graph.Features) *graph.Dense {
	hidden, out := graph.NewDense(x.Rows(), p.layers[0].Width()), graph.NewDense(x.Rows(), p.Classes())
	graph.ParallelRows(out.Rows, p.work(x), func(lo, hi int) { p.rows(out, hidden, x, lo, hi) })
	return out
}

func (p *Perceptron) work(x graph.Features) int {
	return p.project.Work(x) + x.Rows()*p.Classes()*p.project.Width()
}

// rows sets rows lo to hi of out, which are 0. hidden is memory of zeros for the hidden layer; a perceptron of one
// layer does not use it.
func (p *Perceptron) rows(out, hidden *graph.Dense, x graph.Features, lo, hi int) {
	last := p.layers[len(p.layers)-1]
	if len(p.layers) == 1 {
		p.project.AddRows(out, x, lo, hi)
	} else {
		p.project.AddRows(hidden, x, lo, hi)
		for i := lo; i < hi; i++ {
			row := hidden.Row(i)
			graph.Add(row, p.layers[0].Bias)
			for k, v := range row {
				row[k] = max(v, 0)
			}
		}
		graph.AddProduct(out, hidden, last.Self, lo, hi)
	}
	for i := lo; i < hi; i++ {
		graph.Add(out.Row(i), last.Bias)
	}
}

// Expert is a perceptron that answers together with a model on S, as a product of experts (Hinton, "Training products
// of experts by minimizing contrastive divergence", 2002). The exponent a depends on how many neighbours the model
// reads:
//
//	p ∝ p_S · p_own^a        logits = logits_S + a·own(x)
//
// An arrival whose exponent is 0 has the logits of the model alone, bit for bit, and costs nothing.
type Expert struct {
	*Perceptron
	Exponents Exponents
}

// Exponents are the exponents of an [Expert] by the number of an arrival's neighbours that the model reads: known ones
// and, in a graph batch, arrivals of the batch ([attach.Batch.Degree]).
type Exponents struct {
	None float32 `json:"none"` // of an arrival without any
	Few  float32 `json:"few"`  // of 1 to FewNeighbours
	Many float32 `json:"many"` // of more
}

// FewNeighbours is the largest number of neighbours that counts as few.
const FewNeighbours = 4

// At returns the exponent of an arrival with so many neighbours.
func (e Exponents) At(neighbours int) float32 {
	switch {
	case neighbours == 0:
		return e.None
	case neighbours <= FewNeighbours:
		return e.Few
	}
	return e.Many
}

// Validate checks that the exponents are finite and not negative.
func (e Exponents) Validate() error {
	for _, of := range []struct {
		name  string
		value float32
	}{{"none", e.None}, {"few", e.Few}, {"many", e.Many}} {
		if !(of.value >= 0) || math.IsInf(float64(of.value), 0) {
			return fmt.Errorf("%s is %v, want a finite number of 0 or more", of.name, of.value)
		}
	}
	return nil
}

// HoldNorm returns the expert for features that were divided by their norm already, as the function HoldNorm does for a
// deployment; nil of nil.
func (e *Expert) HoldNorm() *Expert {
	if e == nil {
		return nil
	}
	return &Expert{&Perceptron{e.layers, e.project.Undivided()}, e.Exponents}
}

// Add adds a·own(x) to a batch's logits of the model on S. nil adds nothing.
func (e *Expert) Add(logits *graph.Dense, b *attach.Batch) {
	if e == nil {
		return
	}
	pass := expertPasses.Get().(*expertPass)
	*pass = expertPass{e, b, logits, b.Dense(logits.Rows, e.layers[0].Width()), b.Dense(logits.Rows, logits.Cols)}
	graph.Parallel(logits.Rows, e.work(b.X), pass)
	*pass = expertPass{}
	expertPasses.Put(pass)
}

// Share returns a·own(x) of arrival i of a batch, C numbers.
func (e *Expert) Share(b *attach.Batch, i int) []float32 {
	out := graph.NewDense(1, e.Classes())
	one := &attach.Batch{X: b.X.Take([]int32{int32(i)}), Known: []int32{int32(b.Degree(i))}}
	e.Add(out, one)
	return out.Data
}

// expertPass is a batch to whose logits an expert adds. Its memory is used again, so that a batch allocates nothing.
type expertPass struct {
	*Expert
	batch               *attach.Batch
	logits, hidden, own *graph.Dense
}

var expertPasses = sync.Pool{New: func() any { return new(expertPass) }}

// Rows adds to the logits of arrivals lo to hi. Arrivals with an exponent of 0 are passed over.
func (p *expertPass) Rows(lo, hi int) {
	for lo < hi {
		end := lo
		for end < hi && p.Exponents.At(p.batch.Neighbours(end)) != 0 {
			end++
		}
		if end > lo {
			p.rows(p.own, p.hidden, p.batch.X, lo, end)
		}
		for ; lo < end; lo++ {
			graph.Axpy(p.logits.Row(lo), p.Exponents.At(p.batch.Neighbours(lo)), p.own.Row(lo))
		}
		lo++
	}
}
