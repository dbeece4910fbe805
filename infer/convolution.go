package infer

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// convolution is a model whose layers read neighbours: each is the scaled sum over a node's messages x Wn plus, if
// there is a Ws, x Ws of the node itself, plus a bias; a relu between two layers.
//
//	p^l = out(Σ B in·h^{l−1} Wn) + h^{l−1} Ws + b    h^l = relu(p^l)    logits = p^L
type convolution struct {
	*architecture.Operator
	net    *Network
	layers []*layer
}

// layer is one layer. A node's row of x·w begins with its message.
type layer struct {
	w     *graph.Dense // [Wn | Ws] or one alone, so that one product reads x for both; [Wf | Wn | Ws] with a second hop
	own   *graph.Dense // Ws; nil: none
	bias  []float32
	self  int  // where x Ws begins in a row of x·w; its length if there is no Ws
	far   bool // there is a second hop
	relus bool
}

func newConvolution(m *Network) form {
	c := &convolution{Operator: m.Architecture.Operator, net: m}
	for k, l := range m.Layers {
		of := &layer{w: graph.Beside(l.Far, l.Neighbours, l.Self), own: l.Self, bias: l.Bias, self: l.Width(),
			far: l.Far != nil, relus: k+1 < len(m.Layers)}
		if of.far {
			of.self *= 2
		}
		c.layers = append(c.layers, of)
	}
	return c
}

func (l *layer) width() int { return len(l.bias) }

func (c *convolution) first() *graph.Dense                { return c.layers[0].w }
func (c *convolution) enter(xw *graph.Dense) *graph.Dense { return xw }
func (c *convolution) last() *layer                       { return c.layers[len(c.layers)-1] }

func (c *convolution) depth() int       { return len(c.layers) }
func (c *convolution) sent(hop int) int { return c.layers[hop].width() }

func (c *convolution) state(hop int) (w stateWidths) {
	if hop == c.depth() {
		return stateWidths{z: c.last().width()}
	}
	if w.z = c.layers[hop].w.Cols; hop+1 < c.depth() {
		w.met = w.z
	}
	return w
}

// part k of the tables has c_k; the last one also has in* out* if [convolution.scaled].
func (c *convolution) part(k int) (u, ways int) {
	if k > 0 {
		ways = c.layers[k-1].width()
	}
	if k+1 == c.depth() && c.scaled() {
		ways++
	}
	return c.sent(k), ways
}

// close makes h or logits of a layer's sum: p + x Ws + b, and the relu. z is the node's row of x·w.
func (l *layer) close(p, z []float32) {
	if own := z[l.self:]; len(own) > 0 {
		graph.Add(p, own)
	}
	if !l.relus {
		graph.Add(p, l.bias)
		return
	}
	for k, b := range l.bias {
		p[k] = max(p[k]+b, 0)
	}
}

// back is the width of c, the way back: hidden units of all layers, and the scale where [layerBatch.through] reads
// it.
func (c *convolution) back() int {
	_, back := widths(c)
	return back
}

// scaled reports whether in* out* is a column of c.
func (c *convolution) scaled() bool { return len(c.layers) > 2 && c.layers[0].own != nil }

// begin and step compute, with in and out the scales by a node's degree, in* and out* by degree + 1 (the node has met
// the arrival), h^l the states of the graph as it is, h̃^l those of nodes that have met the arrival, h̃⁰ = h⁰ = x,
//
//	p̃^l_j = out*_j (Σ_k B_jk in_k h^{l−1}_k Wn [+ in*_j h̃^{l−1}_j Wn]) + h̃^{l−1}_j Ws + b    h̃^l = relu(p̃^l)
//	u_l = in* h̃^l Wn of layer l+1    c_l = w in* out* 1[p̃^l>0], w the weight of the arrival's edge
//
// in brackets the terms of self-loops. c holds c_1 … c_{L−1} side by side: the ways back of the message that the
// arrival sends to itself through j, linearised at j's relus; and in* out* if L > 2 and there is a Ws. The state before
// layer l is h^{l−1}·w and h̃^{l−1}·w.
func (c *convolution) begin(x *node) {
	graph.Axpy(x.u, x.metIn, x.z)
	copy(x.nextZ, x.z)
	copy(x.nextMet, x.z)
}

func (c *convolution) step(hop int, s *scratch, x *node) {
	last := hop+1 == c.depth()
	if len(x.nextZ) > 0 {
		copy(s.row, x.sum)
		s.finish(c.Loops, x.in, x.out, x.z)
		c.layers[hop].close(s.row, x.z)
		if last {
			copy(x.nextZ, s.row) // logits
		} else {
			s.addProduct(x.nextZ, c.layers[hop+1].w)
		}
	}
	if len(x.u) == 0 {
		return
	}
	copy(s.row, x.sum)
	s.finish(c.Loops, x.metIn, x.metOut, x.met)
	back := float32(x.edge) * x.metIn * x.metOut
	c.layers[hop].close(s.row, x.met)
	s.open(x.ways[:c.layers[hop].width()], back)
	next := c.layers[hop+1]
	if len(x.nextMet) > 0 {
		s.addProduct(x.nextMet, next.w)
		graph.Axpy(x.u, x.metIn, x.nextMet)
	} else {
		if c.scaled() {
			x.ways[len(x.ways)-1] = back
		}
		graph.Scale(s.row, x.metIn)
		s.addProduct(x.u, next.w)
	}
}

// open sets back where the row, a hidden state, is not 0.
func (s *scratch) open(back []float32, scale float32) {
	for k, v := range s.row {
		if v > 0 {
			back[k] = scale
		}
	}
}

func (c *convolution) frozen(t *Tables, project *preprocess.Projection) Deployment {
	tables := graph.Beside(slices.Insert(slices.Clone(t.U), 1, t.C)...)
	return &frozenConvolution{convolution: c, project: project, tables: tables}
}

type frozenConvolution struct {
	*convolution
	project *preprocess.Projection
	tables  *graph.Dense // u0, c, u1, … side by side, so that a neighbour is one stretch of memory
}

func (f *frozenConvolution) Nodes() int { return f.tables.Rows }

// layerBatch is a batch on its way through the layers.
type layerBatch struct {
	*attach.Batch
	f       *frozenConvolution
	see     look
	in, out []float32    // n: scales of the true degrees
	z       *graph.Dense // n×: h^{l−1}·w of the layer
	rest    *graph.Dense // n×: rows read of the tables without u0 and c_1; returning messages are added to a·u_l
	back    *graph.Dense // n×: D^{l−1}; nil where no later layer reads it

	n           int          // l−1: the layer's place
	ends        bool         // the walk ends with this layer
	ways, u     int          // where a·c_l and a·u_{l−1} begin in rest; not of the first layer
	onward      int          // where a·u_l does
	next, backs *graph.Dense // n×: h^l·w of the layer after; D^l
}

// look sees arrival i at each hidden layer: received is given u, the sum of a·u_{l−1} and the returning messages, with
// memory for a row of the layer; state is given h. If either is set the walk ends behind the last hidden layer.
type look struct {
	received func(a *layerBatch, s *scratch, i int, u []float32)
	state    func(a *layerBatch, i int, h []float32)
}

// Logits computes, with z^l = h^{l−1} Wn of layer l and h⁰ = x,
//
//	p^l = out(a·u_{l−1} + [in z^l] + ã(in z^l) + D^{l−1} Wn) + h^{l−1} Ws + b    h^l = relu(p^l)    logits = p^L
//	D^l = (a·c_l)∘(in z^l + D^{l−1} Ws/(a·c̄)), with self-loops (a·c_l)∘(in z^l + D^{l−1} Wn/k); D⁰ = 0
//
// with c̄ = in* out* of the k neighbours. Each layer is a pass over the batch, as it reads the neighbours' states of
// the layer before.
func (f *frozenConvolution) Logits(b *attach.Batch) *graph.Dense {
	a := f.walk(b, look{})
	logits, last := a.rest, f.last()
	if logits.Cols > last.width() {
		logits = logits.Columns(logits.Cols-last.width(), logits.Cols)
	}
	for i := range b.Len() {
		out := logits.Row(i)
		a.receive(out, i)
		last.close(out, a.z.Row(i))
	}
	return logits
}

// walk takes a batch through the hidden layers.
func (f *frozenConvolution) walk(b *attach.Batch, see look) *layerBatch {
	b.Check(f.Nodes())
	a := &layerBatch{Batch: b, f: f, see: see, in: b.Floats(b.Len()), out: b.Floats(b.Len()), z: project(b, f.project)}
	for i := range a.in {
		a.in[i], a.out[i] = f.At(float64(b.Degree(i)))
	}
	looks := see.received != nil || see.state != nil
	a.enter(looks)
	for a.n = 1; a.n+1 < len(f.layers); a.n++ {
		width := a.begin(looks)
		graph.ParallelRows(b.Len(), a.work(), func(lo, hi int) {
			s := borrow(1, width)
			s.nz.Grow(f.layers[a.n-1].width()) // through reads D^{l−1}
			for i := lo; i < hi; i++ {
				row := a.rest.Row(i)
				a.arrival(s, i, row[a.u:a.onward], row[a.ways:a.ways+width])
			}
			s.giveBack()
		})
		a.ways, a.u = a.ways+width, a.onward
		a.z, a.back = a.next, a.backs
	}
	return a
}

// enter takes the batch through the first layer, where it reads the tables.
func (a *layerBatch) enter(looks bool) {
	f := a.f
	hidden, width := a.begin(looks), f.tables.Cols
	if a.ends {
		width = hidden // of u0 only
	} else {
		a.rest = a.Dense(a.Len(), width-2*hidden)
	}
	a.onward = f.back() - hidden
	graph.ParallelRows(a.Len(), a.Stored()*width+a.work(), func(lo, hi int) {
		s := borrow(1, hidden)
		a.EachRead(lo, hi, f.tables, width, func(i int, read []float32) {
			a.arrival(s, i, read[:hidden], read[hidden:min(2*hidden, width)])
			if a.rest != nil {
				graph.Add(a.rest.Row(i), read[2*hidden:])
			}
		})
		s.giveBack()
	})
	a.u, a.z, a.back = a.onward, a.next, a.backs
}

// begin gets ready for the layer and returns its width.
func (a *layerBatch) begin(looks bool) int {
	layers, width := a.f.layers, a.f.layers[a.n].width()
	a.onward = a.u + width
	if a.ends = looks && a.n+2 == len(layers); a.ends {
		return width
	}
	a.next, a.backs = a.Dense(a.Len(), layers[a.n+1].w.Cols), nil
	if a.n+2 < len(layers) {
		a.backs = a.Dense(a.Len(), width)
	}
	return width
}

// work is roughly the layer's cost, in multiply-adds.
func (a *layerBatch) work() int {
	after := a.f.layers[a.n+1]
	return a.Len() * a.f.layers[a.n].width() * (after.w.Cols + after.width())
}

// among adds the messages to arrival i from the batch and, with self-loops, from itself: ã(in·z), leading columns of z.
func (a *layerBatch) among(dst []float32, i int) {
	if a.f.Loops {
		graph.Axpy(dst, a.in[i], a.z.Row(i))
	}
	a.Gather(dst, i, a.in, a.z, 0)
}

// receive makes the sum of a layer of a row that has a·u_{l−1} and D^{l−1} Wn.
func (a *layerBatch) receive(row []float32, i int) {
	a.among(row, i)
	for k := range row {
		row[k] *= a.out[i]
	}
}

// arrival takes arrival i through the layer: u is a·u_{l−1} plus the returning messages, c is a·c_l, which is
// overwritten.
func (a *layerBatch) arrival(s *scratch, i int, u, c []float32) {
	h, nz := s.row, s.nz
	if a.see.received != nil {
		a.see.received(a, s, i, u)
	}
	if a.ends && a.see.state == nil {
		return
	}
	l, z := a.f.layers[a.n], a.z.Row(i)
	clear(h)
	a.among(h, i)
	for k := range h {
		h[k] = a.out[i] * (u[k] + h[k])
	}
	l.close(h, z)
	if a.see.state != nil {
		a.see.state(a, i, h)
	}
	if a.ends {
		return
	}
	after := a.f.layers[a.n+1]
	nz.Set(h)
	nz.AddTo(a.next.Row(i), after.w)
	if a.back != nil {
		a.through(h, nz, i)
	} else {
		clear(h)
	}
	for k := range c {
		c[k] *= a.in[i]*z[k] + h[k]
	}
	nz.Set(c)
	nz.AddTo(a.rest.Row(i)[a.onward:a.onward+after.width()], after.w)
	if a.backs != nil {
		copy(a.backs.Row(i), c)
	}
}

// through sets h to D^{l−1} Ws/(a·c̄), or with self-loops D^{l−1} Wn/k; 0 where it would be divided by 0.
func (a *layerBatch) through(h []float32, nz *graph.NonZeros, i int) {
	clear(h)
	l, divisor := a.f.layers[a.n], a.Squares(i)
	w := l.w
	if l.own != nil {
		w, divisor = l.own, a.rest.Row(i)[a.f.back()-a.f.layers[0].width()-1]
	}
	if divisor == 0 {
		return
	}
	nz.Set(a.back.Row(i))
	nz.AddTo(h, w)
	for k := range h {
		h[k] /= divisor
	}
}

// Embeddings are the last hidden states of the arrivals, n×h.
func (f *frozenConvolution) Embeddings(b *attach.Batch) *graph.Dense {
	states, _ := f.States(b)
	return states[len(states)-1]
}

// States are the arrivals' hidden states behind each hidden layer, n×h, and the messages h^{l−1} Wn that go into
// these.
func (f *frozenConvolution) States(b *attach.Batch) (states, messages []*graph.Dense) {
	for _, l := range f.layers[:len(f.layers)-1] {
		states, messages = append(states, graph.NewDense(b.Len(), l.width())),
			append(messages, graph.NewDense(b.Len(), l.width()))
	}
	f.walk(b, look{state: func(a *layerBatch, i int, h []float32) {
		copy(states[a.n].Row(i), h)
		copy(messages[a.n].Row(i), a.z.Row(i))
	}})
	return states, messages
}
