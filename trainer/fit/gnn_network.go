package fit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"rivulet/graph"
	"rivulet/graph/gemm"
	"rivulet/infer"
	"rivulet/infer/architecture"
)

// network is a model that is being fitted, derived from its architecture, with dropout δ and one or two blocks F_b
// of inputs:
//
//	p¹ = Σ_b δ(F_b) W1_b + b1      a^l = δ(relu(p^l))      p^{l+1} = layer_{l+1}(a^l)      o = p^L
//
// and backwards, from g = ∂L/∂a, with ∂L/∂p = g·scale where a > 0 (kept, and above zero), else 0:
//
//	∂L/∂W1_b = δ(F_b)ᵀ ∂L/∂p      ∂L/∂b1 = column sums of ∂L/∂p
type network struct {
	problem *GNNProblem
	arch    *architecture.Architecture
	inputs  []Design
	w1      []*param // d×h, one a block: on the neighbours and on the node itself, as far as there are
	b1      *param   // 1×h
	later   []layer  // from the second on

	// Of the last forward pass.
	dropped []Design
	hidden  []*graph.Dense // a^l
	scale   float32
}

// layer is one of the layers after the first, or the step after the last.
type layer interface {
	// forward returns the input of the next layer, or the logits, n×width, from the hidden layer n×h.
	forward(hidden *graph.Dense) *graph.Dense
	// backward takes the gradient ∂L/∂ of forward's result for the same hidden layer, sets the gradients of its parameters
	// and returns ∂L/∂hidden.
	backward(hidden, g *graph.Dense) *graph.Dense
	// weights are the weights on neighbours and on the node itself, nil if the layer has none, and the bias.
	weights() (neighbours, self, bias *param)
}

// newNetwork draws the weights of a problem's model.
func newNetwork(p *GNNProblem, arch *architecture.Architecture, rng *rand.Rand) *network {
	n := &network{problem: p, arch: arch, b1: bias(p.Hidden)}
	self := readsSelf(arch)
	n.inputs = n.reads([2]Design{p.Propagated, p.Self})
	for _, f := range n.inputs {
		rows, d := f.Dims()
		if rows != p.Hop.Rows || (rows != p.Hop.Cols && !arch.Relational()) {
			panic(fmt.Sprintf("fit: inputs of %d nodes, hops %d×%d", rows, p.Hop.Rows, p.Hop.Cols))
		}
		n.w1 = append(n.w1, glorot(rng, d, p.Hidden))
	}
	if arch.Relational() {
		n.later = relationalLayers(p, max(p.Layers, arch.Fewest), rng)
		return n
	}
	if !arch.Convolves() {
		n.later = []layer{newPageRank(p, rng)}
		return n
	}
	hopT := p.Hop.Transpose()
	layers := max(p.Layers, arch.Fewest)
	for k := 2; k <= layers; k++ {
		width := p.Hidden
		if k == layers {
			width = p.Classes
		}
		n.later = append(n.later, newConvolution(p.Hop, hopT, rng, p.Hidden, width, self))
	}
	return n
}

// reads returns the inputs of the first layer: P·pre(X), pre(X), or both.
func (n *network) reads(inputs [2]Design) (out []Design) {
	if n.arch.Convolves() {
		out = append(out, inputs[0])
	}
	if readsSelf(n.arch) {
		out = append(out, inputs[1])
	}
	return out
}

// readsSelf reports whether layers read a node itself besides its neighbours.
func readsSelf(a *architecture.Architecture) bool {
	return slices.ContainsFunc(a.Tensors, func(t architecture.Tensor) bool { return t.Self != 0 })
}

func (n *network) params() []*param {
	out := append(slices.Clone(n.w1), n.b1)
	for _, l := range n.later {
		out = append(out, weightsOf(l)...)
	}
	return out
}

// weightsOf are the weights of a layer in order, the bias last.
func weightsOf(l layer) []*param {
	neighbours, self, bias := l.weights()
	return slices.DeleteFunc([]*param{neighbours, self, bias}, func(p *param) bool { return p == nil })
}

// squares is Σ‖W‖² over the parameters that decay.
func (n *network) squares() float64 {
	sum := 0.0
	for _, p := range n.params() {
		if !p.decays {
			continue
		}
		for _, v := range p.value.Data {
			sum += float64(v) * float64(v)
		}
	}
	return sum
}

// model gives the weights a model, as copies or as they are.
func (n *network) model(copied bool) infer.Model {
	view := func(p *param) *graph.Dense {
		if p == nil {
			return nil
		}
		if copied {
			return p.value.Clone()
		}
		return p.value
	}
	layer := func(neighbours, self, bias *param) architecture.Layer {
		return architecture.Layer{Neighbours: view(neighbours), Self: view(self), Bias: view(bias).Data}
	}
	first := slices.Clone(n.w1) // on the neighbours and on the node itself
	if !n.arch.Convolves() {
		first = slices.Insert(first, 0, nil)
	}
	first = append(first, nil)
	layers := []architecture.Layer{layer(first[0], first[1], n.b1)}
	for _, l := range n.later {
		layers = append(layers, layer(l.weights()))
	}
	m, err := infer.New(n.arch, layers, n.problem.Alpha, n.problem.Hops)
	if err != nil {
		panic(fmt.Sprintf("fit: %v", err)) // the network is made after the architecture
	}
	return m
}

// begin sets the weights to a model's, the inverse of model; a model of another shape panics.
func (n *network) begin(m infer.Model) {
	layers := m.Layers
	if m.Architecture != n.arch || len(layers) != 1+len(n.later) {
		panic(fmt.Sprintf("fit: %s of %d layers to begin a %s of %d", m.Name(), len(layers), n.arch.Name, 1+len(n.later)))
	}
	params := n.params()
	for _, l := range layers {
		for _, w := range []*graph.Dense{l.Neighbours, l.Self, {Rows: 1, Cols: len(l.Bias), Data: l.Bias}} {
			if w == nil {
				continue
			}
			if to := params[0].value; to.Rows != w.Rows || to.Cols != w.Cols {
				panic(fmt.Sprintf("fit: weights of %d×%d to begin %d×%d", w.Rows, w.Cols, to.Rows, to.Cols))
			}
			copy(params[0].value.Data, w.Data)
			params = params[1:]
		}
	}
}

// forward returns the logits in an epoch; dropout is drawn anew in each. It ends early, with nil, if ctx has ended.
func (n *network) forward(ctx context.Context, o GNNOptions, epoch uint64) *graph.Dense {
	n.dropped = n.dropped[:0]
	var p *graph.Dense
	for b, f := range n.inputs {
		if ctx.Err() != nil {
			return nil
		}
		d := f
		if o.InputDropout > 0 {
			d = drop(f, o.InputDropout, stream(o.Seed, epoch, streamInputs)) // blocks of one X lose the same entries
		}
		n.dropped = append(n.dropped, d)
		part := d.Forward(n.w1[b].value)
		if b == 0 {
			p = part
		} else {
			graph.Add(p.Data, part.Data)
		}
	}
	n.hidden = n.hidden[:0]
	b := n.b1.value.Data
	for k, l := range n.later {
		if ctx.Err() != nil {
			return nil
		}
		m := newMask(o.Dropout, stream(o.Seed, epoch, streamHidden+uint64(k)))
		a := activate(p, b, m)
		n.hidden, n.scale = append(n.hidden, a), m.scale
		p, b = l.forward(a), make([]float32, len(b)) // forward has added its own bias
	}
	return p
}

// stream is the seed of one purpose in one epoch.
func stream(seed, epoch, purpose uint64) uint64 {
	return mix(mix(seed+golden*purpose) + golden*epoch)
}

// activate turns p into δ(relu(p + b)).
func activate(p *graph.Dense, b []float32, m mask) *graph.Dense {
	graph.ParallelRows(p.Rows, 8*len(p.Data), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, at := p.Row(i), i*p.Cols
			draw := m.draw(at)
			for k, v := range row {
				if (at+k)&3 == 0 {
					draw = m.draw(at + k)
				}
				// Not by a branch: which way it went could not be predicted.
				row[k] = max(v+b[k], 0) * m.scale * float32(m.bit(draw, at+k))
			}
		}
	})
	return p
}

// backward takes ∂L/∂logits of the last forward pass and sets every gradient, or some of them if ctx ends.
func (n *network) backward(ctx context.Context, g *graph.Dense) {
	for k, l := range slices.Backward(n.later) {
		if ctx.Err() != nil {
			return
		}
		hidden := n.hidden[k]
		g = l.backward(hidden, g) // ∂L/∂a, becomes ∂L/∂p
		graph.ParallelRows(g.Rows, 2*len(g.Data), func(lo, hi int) {
			g := g.Data[lo*g.Cols : hi*g.Cols]
			for k, a := range hidden.Data[lo*hidden.Cols : hi*hidden.Cols] {
				passes := uint32(-int32(math.Float32bits(a)) >> 31) // all ones where a > 0; a is never below
				g[k] = math.Float32frombits(math.Float32bits(g[k]*n.scale) & passes)
			}
		})
	}
	n.b1.grad = columnSums(g)
	for b, d := range n.dropped {
		if ctx.Err() != nil {
			return
		}
		n.w1[b].grad = d.Adjoint(g)
	}
}

// columnSums is 1ᵀg, 1×c.
func columnSums(g *graph.Dense) *graph.Dense {
	out := graph.NewDense(1, g.Cols)
	for i := range g.Rows {
		graph.Add(out.Data, g.Row(i))
	}
	return out
}

// convolution is a layer that reads neighbours; ws is nil where the architecture has none:
//
//	o = P(a Wn) + a Ws + b        ∂L/∂Wn = aᵀ(Pᵀg)    ∂L/∂Ws = aᵀg    ∂L/∂a = (Pᵀg) Wnᵀ + g Wsᵀ    ∂L/∂b = 1ᵀg
type convolution struct {
	hop, hopT *graph.CSR
	wn, ws, b *param // h×C, h×C, 1×C
}

func newConvolution(hop, hopT *graph.CSR, rng *rand.Rand, hidden, width int, self bool) *convolution {
	c := &convolution{hop: hop, hopT: hopT, wn: glorot(rng, hidden, width), b: bias(width)}
	if self {
		c.ws = glorot(rng, hidden, width)
	}
	return c
}

func (c *convolution) weights() (neighbours, self, bias *param) { return c.wn, c.ws, c.b }

func (c *convolution) forward(hidden *graph.Dense) *graph.Dense {
	out := graph.Mul(c.hop, Explicit{X: hidden}.Forward(c.wn.value))
	if c.ws != nil {
		gemm.Add(out, 1, gemm.Of(hidden), gemm.Of(c.ws.value))
	}
	return out.AddRow(c.b.value.Data)
}

func (c *convolution) backward(hidden, g *graph.Dense) *graph.Dense {
	c.b.grad = columnSums(g)
	through := graph.Mul(c.hopT, g)
	c.wn.grad = Explicit{X: hidden}.Adjoint(through)
	back := timesTransposed(through, c.wn.value)
	if c.ws != nil {
		c.ws.grad = Explicit{X: hidden}.Adjoint(g)
		gemm.Add(back, 1, gemm.Of(g), gemm.Of(c.ws.value).T())
	}
	return back
}

// pageRank is the last layer where it restarts (APPNP), linear in z⁰ = a W + b:
//
//	z^{t+1} = (1−α) P z^t + α z⁰    o = z^K
//
// With g^K = ∂L/∂o and g^{t−1} = (1−α) Pᵀ g^t, ∂L/∂z⁰ = g⁰ + α Σ_{t=1…K} g^t.
type pageRank struct {
	hop, hopT *graph.CSR
	alpha     float32
	hops      int
	w, b      *param // h×C, 1×C
}

func newPageRank(p *GNNProblem, rng *rand.Rand) *pageRank {
	if !(p.Alpha > 0 && p.Alpha <= 1) || p.Hops < 1 {
		panic(fmt.Sprintf("fit: %s with α = %g and %d hops", p.Model, p.Alpha, p.Hops))
	}
	return &pageRank{hop: p.Hop, hopT: p.Hop.Transpose(), alpha: p.Alpha, hops: p.Hops,
		w: glorot(rng, p.Hidden, p.Classes), b: bias(p.Classes)}
}

func (r *pageRank) weights() (neighbours, self, bias *param) { return nil, r.w, r.b }

func (r *pageRank) forward(hidden *graph.Dense) *graph.Dense {
	start := Explicit{X: hidden}.Forward(r.w.value).AddRow(r.b.value.Data)
	z, next := start.Clone(), graph.NewDense(start.Rows, start.Cols)
	for range r.hops {
		graph.MulTo(next, r.hop, z)
		r.each(next, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				next.Data[k] = (1-r.alpha)*next.Data[k] + r.alpha*start.Data[k]
			}
		})
		z, next = next, z
	}
	return z
}

func (r *pageRank) backward(hidden, g *graph.Dense) *graph.Dense {
	sum := graph.NewDense(g.Rows, g.Cols) // becomes ∂L/∂z⁰
	next := graph.NewDense(g.Rows, g.Cols)
	for range r.hops {
		graph.MulTo(next, r.hopT, g)
		r.each(next, func(lo, hi int) {
			graph.Axpy(sum.Data[lo:hi], r.alpha, g.Data[lo:hi])
			for k := lo; k < hi; k++ {
				next.Data[k] *= 1 - r.alpha
			}
		})
		g, next = next, g
	}
	graph.Add(sum.Data, g.Data)
	r.b.grad = columnSums(sum)
	r.w.grad = Explicit{X: hidden}.Adjoint(sum)
	return timesTransposed(sum, r.w.value)
}

// each calls f on ranges that cover the entries of z.
func (r *pageRank) each(z *graph.Dense, f func(lo, hi int)) {
	graph.ParallelRows(len(z.Data), len(z.Data), f)
}
