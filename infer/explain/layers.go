package explain

import (
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
)

// Models whose layers read neighbours are taken apart from the last layer to the first, with their relus held as
// they are.

// convolution is a model whose layers read neighbours.
type convolution struct {
	*infer.Parts
	*architecture.Operator
	layers []layer
	scale  int // the column of the tables with in* out*; of models that have it
}

// layer is a layer of a convolution. A node's row of x·w begins with its message.
type layer struct {
	w    *graph.Dense // [Wn | Ws], or Wn alone
	own  *graph.Dense // Ws; nil: none
	bias []float32
	way  int // where c_l, the way back through the layer's hidden units, begins in a row of the tables
}

func (l *layer) width() int { return len(l.bias) }

func newConvolution(p *infer.Parts) *convolution {
	f := &convolution{Parts: p, Operator: p.Network.Architecture.Operator, scale: p.C}
	for _, l := range p.Network.Layers {
		f.layers = append(f.layers, layer{graph.Beside(l.Neighbours, l.Self), l.Self, l.Bias, f.scale})
		f.scale += l.Width()
	}
	f.scale = f.last().way
	return f
}

func (f *convolution) last() *layer        { return &f.layers[len(f.layers)-1] }
func (f *convolution) parts() *infer.Parts { return f.Parts }
func (f *convolution) reach() int          { return len(f.layers) }

// layerPass is a member on its way through the layers, as the deployment's Logits has it.
type layerPass struct {
	in, out float64
	z       [][]float64 // z^l and the further columns of h^{l−1}·w, of layers 1, 2, …
	open    [][]bool    // where h^l is not 0
	ways    [][]float64 // the factor of (a·c_l) in D^l
	back    []float64   // D^{l−1} of the next layer
}

// linearise has, with γ^L the class's unit vector, λ^l = out γ^l and γ^{l−1} = 1[p^{l−1}>0]∘(([in λ^l] Wnᵀ) + γ^l Wsᵀ),
//
//	logit = Σ_l λ^l·(a·u_{l−1} + ã(in z^l)) + (Wn λ^l)·D^{l−1} + γ^l·b, and of the first layer [in λ¹]·z¹ + γ¹·x Ws
//
// D^{l−1} = (a·c_{l−1})∘way, with the way held, is linear in the neighbours' rows.
func (f *convolution) linearise(p *place, classes []int, out []linear) {
	members := f.pass(p)
	for k, class := range classes {
		l := &out[k]
		for range p.among(0) {
			l.among = append(l.among, 0)
		}
		gamma := make([]float64, f.last().width())
		gamma[class] = 1
		for n := len(f.layers) - 1; n >= 0; n-- {
			gamma = f.unfold(p, members, l, n, gamma)
		}
		for c, by := range gamma {
			if by != 0 {
				l.own.add(c, by)
			}
		}
	}
}

// unfold adds a layer's terms of neighbours, the batch and the bias, and returns the coefficients of the states before
// the layer; before the first layer the coefficients of x·w.
func (f *convolution) unfold(p *place, members []layerPass, l *linear, n int, gamma []float64) []float64 {
	of, me := &f.layers[n], &members[0]
	for c, v := range gamma {
		l.bias += v * float64(of.bias[c])
		if by := me.out * v; by != 0 {
			l.read.add(f.U[n]+c, by)
		}
	}
	for at, j := range p.among(0) {
		other, weight := &members[p.index[j]], p.weight(0, at)
		for c, v := range gamma {
			l.among[at] += me.out * v * weight * other.in * other.z[n][c]
		}
	}
	if n > 0 {
		for c, way := range me.ways[n-1] {
			by := 0.0
			for k, w := range of.w.Row(c)[:len(gamma)] {
				by += float64(w) * me.out * gamma[k]
			}
			if by *= way; by != 0 {
				l.read.add(f.layers[n-1].way+c, by)
			}
		}
	}
	row := make([]float64, of.w.Cols)
	for c, v := range gamma {
		if f.Loops {
			row[c] += me.in * me.out * v
		}
		if of.own != nil {
			row[of.width()+c] += v
		}
	}
	if n == 0 {
		return row
	}
	before := make([]float64, of.w.Rows)
	for c := range before {
		if me.open[n-1][c] {
			for k, w := range of.w.Row(c) {
				before[c] += float64(w) * row[k]
			}
		}
	}
	return before
}

// pass takes the members through the hidden layers, each as far as the first one reads it.
func (f *convolution) pass(p *place) []layerPass {
	out := make([]layerPass, len(p.members))
	for m := range out {
		out[m].in, out[m].out = f.Scales(p.degree(m))
		out[m].z = [][]float64{p.projected(m)}
	}
	for n := range len(f.layers) - 1 {
		for m := range out {
			if p.members[m].far <= len(f.layers)-1-n {
				f.hide(p, out, m, n)
			}
		}
	}
	return out
}

// hide takes a member through hidden layer n.
func (f *convolution) hide(p *place, members []layerPass, m, n int) {
	me, l, after := &members[m], &f.layers[n], &f.layers[n+1]
	width, z := l.width(), me.z[n]
	h, ways := p.floats(width), make([]float64, width)
	copy(h, p.read(m, f.Tables, f.U[n], f.U[n]+width))
	if n > 0 {
		f.through(p, me, m, n, ways)
		addTransformed(h, me.back, l.w, 1)
	}
	for c := range h {
		ways[c] += me.in * z[c]
		if f.Loops {
			h[c] += me.in * z[c]
		}
	}
	for at, j := range p.among(m) {
		other, weight := &members[p.index[j]], p.weight(m, at)
		for c := range h {
			h[c] += weight * other.in * other.z[n][c]
		}
	}
	open := make([]bool, width)
	for c, b := range l.bias {
		h[c] = h[c]*me.out + float64(b)
		if l.own != nil {
			h[c] += z[len(z)-width+c]
		}
		h[c] = max(h[c], 0)
		open[c] = h[c] > 0
	}
	me.back = p.read(m, f.Tables, f.layers[n].way, f.layers[n].way+width)
	for c, way := range ways {
		me.back[c] *= way
	}
	next := make([]float64, after.w.Cols)
	addTransformed(next, h, after.w, 1)
	me.z, me.open, me.ways = append(me.z, next), append(me.open, open), append(me.ways, ways)
}

// through adds D^{l−1} Ws/(a·c̄), or with self-loops D^{l−1} Wn/k, to the way back, as the deployment does.
func (f *convolution) through(p *place, me *layerPass, m, n int, ways []float64) {
	w, divisor := f.layers[n].w, float64(p.b.Squares(p.members[m].i))
	if own := f.layers[n].own; own != nil {
		w, divisor = own, p.read(m, f.Tables, f.scale, f.scale+1)[0]
	}
	if divisor != 0 {
		addTransformed(ways, me.back, w, 1/divisor)
	}
}

// addTransformed adds x·w·by to the leading columns that y has.
func addTransformed(y, x []float64, w *graph.Dense, by float64) {
	for k, v := range x {
		if v == 0 {
			continue
		}
		for c, weight := range w.Row(k)[:len(y)] {
			y[c] += v * float64(weight) * by
		}
	}
}
