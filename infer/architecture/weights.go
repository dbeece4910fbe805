package architecture

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/tensor"
)

// Weights are an architecture with its weights W: a model, before anything is computed by it.
type Weights struct {
	Architecture *Architecture
	Layers       []Layer
	Alpha        float32 // α, 0 < α ≤ 1; 0 where the architecture has none
	Hops         int     // K, 1 … 100; 0 where the architecture has none
	params       []tensor.Tensor
}

// Layer are the weights of a layer, P being the operator and [Layer.Far] nil in all but Chebyshev polynomials of
// degree 2:
//
//	P(x Neighbours + P(x Far)) + x Self + Bias
type Layer struct {
	Neighbours, Self, Far *graph.Dense // in×out; nil: none
	Bias                  []float32    // out
}

// Width is the number of columns that a layer gives.
func (l *Layer) Width() int { return len(l.Bias) }

// Block returns matrix k of a layer whose Self has so many matrices, one below the other.
func (l *Layer) Block(k, blocks int) *graph.Dense {
	rows := l.Self.Rows / blocks
	return &graph.Dense{Rows: rows, Cols: l.Self.Cols, Data: l.Self.Data[k*rows*l.Self.Cols : (k+1)*rows*l.Self.Cols]}
}

// MaxHops keeps the number of tables, one a hop, within reason.
const MaxHops = 100

// Params returns the tensors of layers without a second hop ([Layer.Far]), with alpha and hops if the architecture has
// them: the inverse of [Build].
func (a *Architecture) Params(layers []Layer, alpha float32, hops int) []tensor.Tensor {
	var weights []tensor.Tensor
	for k, l := range layers {
		for _, t := range a.Tensors {
			switch {
			case t.Bias:
				weights = append(weights, tensor.Tensor{Name: a.Tensor(k, t), Value: rowOf(l.Bias)})
			case a.Relational():
				weights = append(weights, tensor.Tensor{Name: a.Tensor(k, t), Value: l.Block(t.Block, a.Blocks())})
			case t.Neighbours != 0:
				weights = append(weights, tensor.Tensor{Name: a.Tensor(k, t), Value: l.Neighbours.Times(t.Neighbours)})
			case !t.Optional:
				weights = append(weights, tensor.Tensor{Name: a.Tensor(k, t), Value: l.Self.Times(t.Self)})
			}
		}
	}
	return a.Scalars(weights, alpha, hops)
}

// Scalars adds α and K as tensors to weights, where the architecture has them.
func (a *Architecture) Scalars(weights []tensor.Tensor, alpha float32, hops int) []tensor.Tensor {
	if a.Alpha != 0 {
		weights = append(weights, tensor.Tensor{Name: "alpha", Value: rowOf([]float32{alpha})})
	}
	if a.Hops != 0 && !(a.Implied && hops == a.Hops) {
		weights = append(weights, tensor.Tensor{Name: "hops", Value: rowOf([]float32{float32(hops)})})
	}
	return weights
}

// Build takes the weights of a model from its tensors, in any order. The error names the tensor, and both shapes where
// they do not fit. The weights use the memory of the tensors.
func Build(name string, params []tensor.Tensor) (*Weights, error) {
	a, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	p := tensor.NewSet(params)
	m := a.fitted(p.Has).build(p)
	if err := p.End(); err != nil {
		return nil, fmt.Errorf("building %s: %w", name, err)
	}
	return m, nil
}

// build takes the weights of as many layers as there are.
func (a *Architecture) build(p *tensor.Set) *Weights {
	m := &Weights{Architecture: a}
	var before tensor.Tensor
	for k := 0; k < a.Fewest || (k < a.Most && a.begun(p, k)); k++ {
		m.Layers = append(m.Layers, m.layer(p, k, &before))
	}
	if a.Alpha != 0 {
		m.Alpha = m.scalar(p, "alpha")
		if !(m.Alpha > 0 && m.Alpha <= 1) {
			p.Fail(fmt.Errorf("tensor alpha is %v, want more than 0 and at most 1", m.Alpha))
		}
	}
	if m.Hops = a.Hops; a.Hops != 0 && !(a.Implied && !p.Has("hops")) {
		hops := m.scalar(p, "hops")
		if m.Hops = int(hops); !(hops >= 1 && hops <= MaxHops) || hops != float32(m.Hops) {
			p.Fail(fmt.Errorf("tensor hops is %v, want a whole number of 1 to %d", hops, MaxHops))
		}
	}
	return m
}

// scalar takes a tensor of 1×1 and keeps it among the weights.
func (m *Weights) scalar(p *tensor.Set, name string) float32 {
	value := p.Sized(name, 1, 1)
	m.params = append(m.params, tensor.Tensor{Name: name, Value: value})
	return value.Data[0]
}

// begun reports whether there is a weight of layer k.
func (a *Architecture) begun(p *tensor.Set, k int) bool {
	return slices.ContainsFunc(a.Tensors, func(t Tensor) bool { return p.Has(a.Tensor(k, t)) })
}

// layer takes the weights of layer k, which reads as many columns as the layer before it gives. All its matrices
// have one shape. before is the first matrix of the previous layer; layer replaces it by the first matrix of this one.
func (m *Weights) layer(p *tensor.Set, k int, before *tensor.Tensor) (l Layer) {
	a, first := m.Architecture, (*graph.Dense)(nil)
	for _, t := range a.Tensors {
		name := a.Tensor(k, t)
		if t.Optional && (k > 0 && m.Layers[0].Far == nil || k == 0 && !p.Has(name)) {
			continue
		}
		var w *graph.Dense
		switch {
		case first == nil:
			first = p.Free(name)
			if w = first; before.Value != nil {
				p.Chain(name, w, before.Name, before.Value)
			}
			*before = tensor.Tensor{Name: name, Value: w}
		case t.Bias:
			w = p.Sized(name, 1, first.Cols)
			l.Bias = w.Data
		default:
			w = p.Sized(name, first.Rows, first.Cols)
		}
		m.params = append(m.params, tensor.Tensor{Name: name, Value: w})
		if p.Err() == nil {
			share(&l.Neighbours, t.Neighbours, w)
			share(&l.Self, t.Self, w)
			share(&l.Far, t.Far, w)
			if t.Block > 0 {
				l.Self = graph.Stack(l.Self, w)
			}
		}
	}
	return l
}

// share adds a share of w to a sum of matrices.
func share(sum **graph.Dense, of float32, w *graph.Dense) {
	switch {
	case of == 0:
	case *sum == nil:
		*sum = w.Times(of)
	default:
		out := (*sum).Clone()
		graph.Axpy(out.Data, of, w.Data)
		*sum = out
	}
}

// Name is the architecture's: "sgc".
func (m *Weights) Name() string { return m.Architecture.Name }

// Features is d.
func (m *Weights) Features() int {
	l := m.Layers[0]
	if l.Self != nil {
		return l.Self.Rows / m.Architecture.Blocks()
	}
	return l.Neighbours.Rows
}

// Classes is C.
func (m *Weights) Classes() int { return m.Layers[len(m.Layers)-1].Width() }

// Depth is the number of layers.
func (m *Weights) Depth() int { return len(m.Layers) }

// Choices are the numbers of layers and hops, 0 where they are the architecture's defaults.
func (m *Weights) Choices() (layers, hops int) {
	if m.Depth() > m.Architecture.Fewest {
		layers = m.Depth()
	}
	if m.Hops != m.Architecture.Hops {
		hops = m.Hops
	}
	return layers, hops
}

// Hidden is the width of the first hidden layer, 0 where there is none.
func (m *Weights) Hidden() int {
	if len(m.Layers) < 2 {
		return 0
	}
	return m.Layers[0].Width()
}

// Params are the weights under PyTorch Geometric's names, in shapes y = x W + b ([in, out]; PyTorch's weight is the
// transpose). The model goes on using their memory.
func (m *Weights) Params() []tensor.Tensor { return slices.Clone(m.params) }

// rowOf views a bias as a matrix of one row.
func rowOf(b []float32) *graph.Dense { return &graph.Dense{Rows: 1, Cols: len(b), Data: b} }
