package perceptron

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/preprocess"
)

// Perceptron is a model that reads an arrival's own features and nothing of its neighbours. It has one layer, which is
// multinomial logistic regression, or two:
//
//	own(x) = pre(x) W1 + b1        own(x) = relu(pre(x) W1 + b1) W2 + b2
//
// A row of its logits depends on its own row of features alone, bit for bit, as those of [preprocess.Projection] do.
type Perceptron struct {
	layers  []architecture.Layer // Self and Bias of one or two
	project *preprocess.Projection
}

// Check returns an error if layers are not a perceptron's for d features and so many classes.
func Check(layers []architecture.Layer, d, classes int) error {
	if len(layers) != 1 && len(layers) != 2 {
		return fmt.Errorf("a perceptron of %d layers, want 1 or 2", len(layers))
	}
	in := d
	for k, l := range layers {
		if l.Self == nil || l.Neighbours != nil || l.Far != nil || l.Self.Rows != in || l.Self.Cols != l.Width() ||
			len(l.Self.Data) != in*l.Width() {
			shape := "none"
			if l.Self != nil {
				shape = fmt.Sprintf("%d×%d", l.Self.Rows, l.Self.Cols)
			}
			return fmt.Errorf("layer %d of a perceptron has weights of %s and a bias of %d, want %d rows", k, shape,
				l.Width(), in)
		}
		in = l.Width()
	}
	if in != classes {
		return fmt.Errorf("a perceptron for %d classes, want %d", in, classes)
	}
	return nil
}

// New returns the perceptron of these layers for raw features. Layers that do not fit one another panic.
func New(layers []architecture.Layer, pre *preprocess.Parameters) *Perceptron {
	if err := Check(layers, layers[0].Self.Rows, layers[len(layers)-1].Width()); err != nil {
		panic("perceptron: " + err.Error())
	}
	return &Perceptron{layers, pre.Fold(layers[0].Self)}
}

// Layers returns the weights. Nobody may write to them.
func (p *Perceptron) Layers() []architecture.Layer { return p.layers }

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
