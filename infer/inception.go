package infer

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// inception is a model that reads each hop of the features by a layer of its own, and all of these by one more: SIGN.
//
//	p = [P^K x W_K | … | P x W_1 | x W_0] + b    logits = relu(p) V + b'
//
// Each P^t x W_t is linear, so that W_t is applied first and H columns travel t hops: of z = x [W_K | … | W_0] the
// leading columns travel, H fewer at each hop. The columns that a hop leaves behind are done.
type inception struct {
	*architecture.Operator
	net         *Network
	w, head     *graph.Dense // d×(K+1)H and (K+1)H×C, the last hop first
	bias        []float32    // (K+1)H
	last        []float32    // C
	hops, width int          // K and H
}

func newInception(m *Network) *inception {
	k := m.Hops
	head := m.Layers[k+1]
	p := &inception{Operator: m.Architecture.Operator, net: m, last: head.Bias, hops: k, width: m.Layers[0].Width()}
	var first, rows []*graph.Dense
	for t := k; t >= 0; t-- {
		first, p.bias = append(first, m.Layers[t].Self), append(p.bias, m.Layers[t].Bias...)
		rows = append(rows, &graph.Dense{Rows: p.width, Cols: head.Self.Cols,
			Data: head.Self.Data[t*p.width*head.Self.Cols : (t+1)*p.width*head.Self.Cols]})
	}
	p.w, p.head = graph.Beside(first...), graph.Stack(rows...)
	return p
}

func (p *inception) first() *graph.Dense                { return p.w }
func (p *inception) enter(xw *graph.Dense) *graph.Dense { return xw }
func (p *inception) depth() int                         { return p.hops }
func (p *inception) sent(hop int) int                   { return (p.hops - hop) * p.width }

func (p *inception) state(hop int) stateWidths {
	if hop == p.hops {
		return stateWidths{z: len(p.last)}
	}
	return stateWidths{z: len(p.bias)}
}

func (p *inception) part(k int) (u, ways int) {
	if k == 0 {
		ways = 1
	}
	return p.sent(k), ways
}

// logits computes the logits from p without its bias. p becomes the hidden layer.
func (p *inception) logits(h *graph.Dense) *graph.Dense {
	return graph.MulDense(hidden(h, p.bias), p.head).AddRow(p.last)
}

// begin and step compute, with h^t the hops of the graph as it is and in*, out* the scales by degree + 1 (the node has
// met the arrival),
//
//	u_0 = in* z    u_t = in* out* Σ_k B_jk in_k h^{t−1}_k    c = w in* out*
//
// There are no self-loops: what a node sends is the sum of its neighbours', of which the arrival's part is c's.
func (p *inception) begin(x *node) {
	graph.Axpy(x.u, x.metIn, x.z[:len(x.u)])
	x.ways[0] = float32(x.edge) * x.metIn * x.metOut
	copy(x.nextZ, x.z)
}

func (p *inception) step(hop int, s *scratch, x *node) {
	graph.Axpy(x.u, x.metIn*x.metOut, x.sum[:len(x.u)])
	if len(x.nextZ) == 0 {
		return
	}
	s.behind = append(s.behind[:0], x.z...)
	for k, v := range x.sum {
		s.behind[k] = x.out * v
	}
	if hop+1 < p.hops {
		copy(x.nextZ, s.behind)
		return
	}
	for k, b := range p.bias {
		s.behind[k] = max(s.behind[k]+b, 0)
	}
	copy(x.nextZ, p.last)
	s.nz.Grow(len(s.behind))
	s.nz.Set(s.behind)
	s.nz.AddTo(x.nextZ, p.head)
}

func (p *inception) frozen(t *Tables, project *preprocess.Projection) Deployment {
	return &frozenInception{inception: p, project: project, tables: graph.Beside(append(slices.Clip(t.U), t.C)...)}
}

type frozenInception struct {
	*inception
	project *preprocess.Projection
	tables  *graph.Dense // u_0, …, c side by side
}

func (f *frozenInception) Nodes() int { return f.tables.Rows }

// Logits computes, with in and out the scales of the arrivals' degrees,
//
//	h⁰ = z    h^{t+1} = out(a·u_t + ã(in h^t)) + in out (a·c) h^{t−1}    logits = relu(p) V + b'
//
// h^t has the leading (K+1−t)H columns. The last term is the arrival's own message, which its neighbours send back.
func (f *frozenInception) Logits(b *attach.Batch) *graph.Dense { return f.logits(f.arrived(b)) }

// Embeddings are the hidden layer of the arrivals, n×(K+1)H.
func (f *frozenInception) Embeddings(b *attach.Batch) *graph.Dense {
	return hidden(f.arrived(b), f.bias)
}

// arrived returns p of the arrivals without its bias.
func (f *frozenInception) arrived(b *attach.Batch) *graph.Dense {
	h, _, _ := f.walk(b)
	out := b.Dense(b.Len(), len(f.bias))
	for t, of := range h {
		at := f.sent(t)
		for i := range out.Rows {
			copy(out.Row(i)[at:], of.Row(i)[at:at+f.width])
		}
	}
	return out
}

// walk returns h^0, …, h^K of the arrivals, and for each hop a·u_t + ã(in h^t) + in (a·c) h^{t−1}.
func (f *frozenInception) walk(b *attach.Batch) (h, received []*graph.Dense, in []float32) {
	b.Check(f.Nodes())
	n, read := b.Len(), b.Read(f.tables)
	in, out := b.Floats(n), b.Floats(n)
	for i := range in {
		in[i], out[i] = f.At(float64(b.Degree(i)))
	}
	h = append(h, project(b, f.project))
	at := 0
	for t := range f.hops {
		width := f.sent(t)
		sum, next := b.Dense(n, width), b.Dense(n, width)
		for i := range n {
			row, got := sum.Row(i), read.Row(i)
			copy(row, got[at:at+width])
			b.Gather(row, i, in, h[t], 0)
			if t > 0 {
				graph.Axpy(row, in[i]*got[len(got)-1], h[t-1].Row(i)[:width])
			}
			graph.Axpy(next.Row(i), out[i], row)
		}
		h, received = append(h, next), append(received, sum)
		at += width
	}
	return h, received, in
}

// arrivedTables follow [inception.step] with the arrival as node j.
func (f *frozenInception) arrivedTables(b *attach.Batch, edge float64) *Tables {
	h, received, _ := f.walk(b)
	n := b.Len()
	t := &Tables{C: graph.NewDense(n, 1)}
	for k := range f.hops {
		u := graph.NewDense(n, f.sent(k))
		for i := range n {
			in, out := f.At(float64(b.Degree(i)) + edge)
			if t.C.Row(i)[0] = float32(edge) * in * out; k == 0 {
				graph.Axpy(u.Row(i), in, h[0].Row(i)[:u.Cols])
			} else {
				graph.Axpy(u.Row(i), in*out, received[k-1].Row(i)[:u.Cols])
			}
		}
		t.U = append(t.U, u)
	}
	return t
}

// run takes both blocks through the hops; a hop leaves its last columns behind, in the rows that are closed at the end.
func (p *inception) run(j *jointGraph, zg, zb *graph.Dense, all, _ bool) (nodes, arrivals *graph.Dense) {
	hg, hb := p.through(j, zg, zb, all)
	if all {
		nodes = p.logits(hg)
	}
	return nodes, p.logits(hb)
}

// through returns p without its bias: of the arrivals, and with all of the graph's nodes.
func (p *inception) through(j *jointGraph, zg, zb *graph.Dense, all bool) (hg, hb *graph.Dense) {
	if hb = zb.Clone(); all {
		hg = zg.Clone()
	}
	put := func(to, hop *graph.Dense) {
		for i := range hop.Rows {
			copy(to.Row(i), hop.Row(i))
		}
	}
	for t := range p.hops {
		width := p.sent(t)
		next := j.arrivals(width, zg, false, zb)
		if t+1 < p.hops || all {
			zg = j.nodes(false, width, zg, zb)
		}
		if zb = next; all {
			put(hg, zg)
		}
		put(hb, zb)
	}
	return hg, hb
}

// embed returns the hidden layer of the arrivals, n×(K+1)H.
func (p *inception) embed(j *joint, b *attach.Batch) *graph.Dense {
	on, zg, zb := j.enter(b)
	_, h := p.through(on, zg, zb, false)
	return hidden(h, p.bias)
}
