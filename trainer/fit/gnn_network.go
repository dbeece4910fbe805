package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
)

// networks make the models ready to be fitted, by name.
var networks = map[string]func(p *GNNProblem, rng *rand.Rand) *network{
	modelGCN: newGCN, modelSAGE: newSAGE, modelAPPNP: newAPPNP, modelCheby: newCheby,
}

// network is what the models have in common, with dropout δ and one or two blocks F_b of inputs:
//
//	p = Σ_b δ(F_b) W1_b + b1      a = δ(relu(p))      o = head(a)
//
// and backwards, from g = ∂L/∂a, with ∂L/∂p = g·scale where a > 0 (kept, and above zero), else 0:
//
//	∂L/∂W1_b = δ(F_b)ᵀ ∂L/∂p      ∂L/∂b1 = column sums of ∂L/∂p
type network struct {
	inputs []Design
	w1     []*param // d×h, one a block
	b1     *param   // 1×h
	head   head
	// snapshot makes a model of the weights.
	snapshot func(w1 []*graph.Dense, b1 []float32, head []*graph.Dense) infer.Model

	// Of the last forward pass.
	dropped []Design
	hidden  *graph.Dense // a
	scale   float32
}

// head is the second layer and what follows.
type head interface {
	// forward returns the logits n×C of the hidden layer n×h.
	forward(hidden *graph.Dense) *graph.Dense
	// backward takes ∂L/∂logits after a forward pass with the same hidden layer, sets the gradients of its parameters and
	// returns ∂L/∂hidden.
	backward(hidden, g *graph.Dense) *graph.Dense
	// params are the weights in order, the bias last.
	params() []*param
}

// newNetwork draws the first layer.
func newNetwork(p *GNNProblem, rng *rand.Rand, inputs ...Design) *network {
	n := &network{inputs: inputs, b1: bias(p.Hidden)}
	for _, f := range inputs {
		rows, d := f.Dims()
		if rows != p.Hop.Rows || rows != p.Hop.Cols {
			panic(fmt.Sprintf("fit: inputs of %d nodes, hops %d×%d", rows, p.Hop.Rows, p.Hop.Cols))
		}
		n.w1 = append(n.w1, glorot(rng, d, p.Hidden))
	}
	return n
}

func (n *network) params() []*param {
	return slices.Concat(n.w1, []*param{n.b1}, n.head.params())
}

// squares is Σ‖W‖² over what decays.
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
		if copied {
			return p.value.Clone()
		}
		return p.value
	}
	var w1, head []*graph.Dense
	for _, p := range n.w1 {
		w1 = append(w1, view(p))
	}
	for _, p := range n.head.params() {
		head = append(head, view(p))
	}
	return n.snapshot(w1, view(n.b1).Data, head)
}

// forward returns the logits in an epoch: what is dropped is drawn anew in each.
func (n *network) forward(o GNNOptions, epoch uint64) *graph.Dense {
	n.dropped = n.dropped[:0]
	var p *graph.Dense
	for b, f := range n.inputs {
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
	m := newMask(o.Dropout, stream(o.Seed, epoch, streamHidden))
	n.hidden, n.scale = activate(p, n.b1.value.Data, m), m.scale
	return n.head.forward(n.hidden)
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
				row[k] = max(v+b[k], 0) * m.scale * float32(m.lane(draw, at+k))
			}
		}
	})
	return p
}

// backward takes ∂L/∂logits of the last forward pass and sets every gradient.
func (n *network) backward(g *graph.Dense) {
	back := n.head.backward(n.hidden, g) // ∂L/∂a, becomes ∂L/∂p
	graph.ParallelRows(back.Rows, 2*len(back.Data), func(lo, hi int) {
		g := back.Data[lo*back.Cols : hi*back.Cols]
		for k, a := range n.hidden.Data[lo*back.Cols : hi*back.Cols] {
			passes := uint32(-int32(math.Float32bits(a)) >> 31) // all ones where a > 0; a is never below
			g[k] = math.Float32frombits(math.Float32bits(g[k]*n.scale) & passes)
		}
	})
	n.b1.grad = columnSums(back)
	for b, d := range n.dropped {
		n.w1[b].grad = d.Adjoint(back)
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

// convolution is the head of GCN, GraphSAGE and Cheby; ws is nil for GCN:
//
//	o = P(a Wn) + a Ws + b        ∂L/∂Wn = aᵀ(Pᵀg)    ∂L/∂Ws = aᵀg    ∂L/∂a = (Pᵀg) Wnᵀ + g Wsᵀ    ∂L/∂b = 1ᵀg
type convolution struct {
	hop, hopT *graph.CSR
	wn, ws, b *param // h×C, h×C, 1×C
}

func newConvolution(p *GNNProblem, rng *rand.Rand, self bool) *convolution {
	c := &convolution{hop: p.Hop, hopT: p.Hop.Transpose(), wn: glorot(rng, p.Hidden, p.Classes), b: bias(p.Classes)}
	if self {
		c.ws = glorot(rng, p.Hidden, p.Classes)
	}
	return c
}

func (c *convolution) params() []*param {
	if c.ws == nil {
		return []*param{c.wn, c.b}
	}
	return []*param{c.wn, c.ws, c.b}
}

func (c *convolution) forward(hidden *graph.Dense) *graph.Dense {
	out := graph.Mul(c.hop, Explicit{X: hidden}.Forward(c.wn.value))
	if c.ws != nil {
		graph.Add(out.Data, Explicit{X: hidden}.Forward(c.ws.value).Data)
	}
	addToRows(out, c.b.value.Data)
	return out
}

func (c *convolution) backward(hidden, g *graph.Dense) *graph.Dense {
	c.b.grad = columnSums(g)
	through := graph.Mul(c.hopT, g)
	c.wn.grad = matrix{x: through}.adjoint(hidden).Transposed()
	back := timesTransposed(through, c.wn.value)
	if c.ws != nil {
		c.ws.grad = matrix{x: g}.adjoint(hidden).Transposed()
		graph.Add(back.Data, timesTransposed(g, c.ws.value).Data)
	}
	return back
}

// timesTransposed is g·wᵀ, n×h, for g n×C and w h×C.
func timesTransposed(g, w *graph.Dense) *graph.Dense { return matrix{x: g}.forward(w.Transposed()) }

func addToRows(m *graph.Dense, v []float32) {
	for i := range m.Rows {
		graph.Add(m.Row(i), v)
	}
}
