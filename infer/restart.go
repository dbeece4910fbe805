package infer

import (
	"slices"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// restart is a perceptron of two layers whose answers are spread by personalised PageRank: APPNP.
type restart struct {
	net    *Network
	w1, w2 *graph.Dense // d×h, h×C
	b1, b2 []float32    // h, C

	width, hops int     // C and the number of hops
	keep        float32 // 1−α
	ways        bool    // the tables have the way back, which propagation has not
}

func newRestart(m *Network) *restart {
	first, second := m.Layers[0], m.Layers[1]
	return &restart{m, first.Self, second.Self, first.Bias, second.Bias, m.Classes(), m.Hops, 1 - m.Alpha, true}
}

func (p *restart) first() *graph.Dense { return p.w1 }
func (p *restart) depth() int          { return p.hops }
func (p *restart) sent(int) int        { return p.width }

func (p *restart) state(hop int) stateWidths {
	w := stateWidths{z: p.width}
	if hop+1 < p.hops {
		w.met = p.width
	}
	if hop < p.hops && p.keep != 1 {
		w.rest = p.width
	}
	return w
}

func (p *restart) part(k int) (u, ways int) {
	if k == 0 && p.ways {
		ways = 1
	}
	return p.width, ways
}

// hidden makes relu(h + bias) of h, in its memory.
func hidden(h *graph.Dense, bias []float32) *graph.Dense {
	for k, v := range h.AddRow(bias).Data {
		h.Data[k] = max(v, 0)
	}
	return h
}

// enter makes z⁰ = relu(x W1 + b1) W2 + b2 of x W1, overwriting it.
func (p *restart) enter(xw *graph.Dense) *graph.Dense {
	return graph.MulDense(hidden(xw, p.b1), p.w2).AddRow(p.b2)
}

// begin and step compute, with n_j = (D_j+1)^-½ and z^{t+1} = (1−α) Â z^t + α z⁰ on the graph alone
// (docs/algorithm.md, section 2),
//
//	z̃⁰ = z⁰    z̃^{t+1}_j = (1−α)n_j(Σ_k B_jk z^t_k/√D_k + n_j z̃^t_j) + αz⁰_j    u_t = n z̃^t    c = 1/(D_j+1)
func (p *restart) begin(x *node) {
	graph.Axpy(x.u, x.metIn, x.z)
	waysBack(x.ways, x.degree, x.edge)
	copy(x.nextZ, x.z)
	copy(x.nextMet, x.z)
	copy(x.nextRest, x.z)
}

func (p *restart) step(_ int, s *scratch, x *node) {
	if len(x.nextZ) > 0 {
		p.next(s.row, x, x.in, x.z)
		copy(x.nextZ, s.row)
		copy(x.nextRest, x.rest)
	}
	if len(x.u) > 0 {
		p.next(s.row, x, x.metIn, x.met)
		graph.Axpy(x.u, x.metIn, s.row)
		copy(x.nextMet, s.row)
	}
}

// next sets to to keep·n(Σ + n z) + (1−keep) z⁰. The products are rounded before they are added, on every processor.
func (p *restart) next(to []float32, x *node, n float32, z []float32) {
	keep, again := p.keep*n, 1-p.keep
	for k, sum := range x.sum {
		to[k] = keep * (sum + float32(n*z[k]))
	}
	if len(x.rest) > 0 {
		for k, seed := range x.rest {
			to[k] = float32(to[k]) + float32(again*seed)
		}
	}
}

func (p *restart) frozen(t *Tables, project *preprocess.Projection) Deployment {
	return &frozenRestart{restart: p, project: project, tables: graph.Beside(slices.Insert(slices.Clone(t.U), 0, t.C)...)}
}

type frozenRestart struct {
	*restart
	project *preprocess.Projection
	tables  *graph.Dense // m×(1+hops·C): c, u_0, u_1, … side by side
}

func (f *frozenRestart) Nodes() int { return f.tables.Rows }

// Logits computes, with q = diag(D_i^-½), h⁰ = MLP(x) and h⁻¹ = 0,
//
//	h^{t+1} = (1−α)[q(a·u_t + q h^t + ã(q h^t)) + (1−α)q²(a·c)h^{t−1}] + αh⁰
func (f *frozenRestart) Logits(b *attach.Batch) *graph.Dense {
	b.Check(f.Nodes())
	w := f.arrive(b)
	for range f.net.Hops {
		w.step()
	}
	return w.h
}

// walk is a batch on its way through the hops.
type walk struct {
	*frozenRestart
	batch                   *attach.Batch
	hop                     int          // t
	first, h, before, spare *graph.Dense // n×C: h⁰, h^t, h^{t−1}, memory
	read                    *graph.Dense // n×(1+hops·C): a·[c, u_0, …]
	q                       []float32
}

func (f *frozenRestart) arrive(b *attach.Batch) *walk {
	first := f.enter(project(b, f.project))
	n, classes := b.Len(), len(f.b2)
	h := b.Dense(n, classes)
	copy(h.Data, first.Data)
	return &walk{frozenRestart: f, batch: b, first: first, h: h, before: b.Dense(n, classes),
		spare: b.Dense(n, classes), read: b.Read(f.tables), q: b.InvSqrtDegrees(1)}
}

// reads returns the numbers that arrival i reads of the tables at this hop: back = (1−α)q²(a·c), the factor of h^{t−1}
// in the returning messages, and u = a·u_t.
func (w *walk) reads(i int) (back float32, u []float32) {
	got, classes := w.read.Row(i), len(w.b2)
	return (1 - w.net.Alpha) * w.q[i] * w.q[i] * got[0], got[1+w.hop*classes : 1+(w.hop+1)*classes]
}

func (w *walk) step() {
	next, keep := w.spare, 1-w.net.Alpha
	w.batch.Spread(next, w.q, w.h)
	for i := range next.Rows {
		back, u := w.reads(i)
		out, last, own := next.Row(i), w.before.Row(i), w.first.Row(i)
		for k := range out {
			out[k] = keep*(w.q[i]*(u[k]+out[k])+back*last[k]) + w.net.Alpha*own[k]
		}
	}
	w.before, w.h, w.spare = w.h, next, w.before
	w.hop++
}

// Embeddings are the hidden layer of the perceptron, n×h, which comes before both the classifier and the
// propagation.
func (f *frozenRestart) Embeddings(b *attach.Batch) *graph.Dense {
	b.Check(f.Nodes())
	return hidden(f.project.Apply(b.X), f.b1)
}

// arrivedTables are, with n_i = (D_i+w)^-½ and h^t the arrival's own states of [frozenRestart.Logits],
//
//	z̃⁰ = h⁰    z̃^{t+1} = (1−α)n(a·u_t + ã(q h^t) + (1−α)q(a·c)h^{t−1} + n z̃^t) + αh⁰    u_t = n z̃^t    c = w/(D_i+w)
//
// Messages that return to the arrival through its neighbours are part of the neighbours' messages.
func (f *frozenRestart) arrivedTables(b *attach.Batch, edge float64) *Tables {
	b.Check(f.Nodes())
	n := b.Len()
	t, met := &Tables{C: ways(n, 1, b.Degree, edge)}, b.InvSqrtDegrees(1+edge)
	w := f.arrive(b)
	z, sum := w.first.Clone(), make([]float32, len(f.b2)) // z̃^t
	for range f.net.Hops {
		t.U = append(t.U, scaled(met, z))
		for i := range n {
			clear(sum)
			b.Gather(sum, i, w.q, w.h, 0)
			back, u := w.reads(i)
			out, last, own := z.Row(i), w.before.Row(i), w.first.Row(i)
			for k := range out {
				received := u[k] + sum[k] + back/w.q[i]*last[k]
				out[k] = (1-f.net.Alpha)*met[i]*(received+met[i]*out[k]) + f.net.Alpha*own[k]
			}
		}
		w.step()
	}
	return t
}

// run needs all nodes: its hops reach the whole graph.
func (p *restart) run(j *jointGraph, zg, zb *graph.Dense, _, _ bool) (nodes, arrivals *graph.Dense) {
	return j.restart(zg, zb, 1-p.net.Alpha, p.net.Hops)
}

// embed returns the hidden layer of the perceptron, n×h; the graph has no part in it.
func (p *restart) embed(j *joint, b *attach.Batch) *graph.Dense {
	b.Check(j.Nodes())
	return hidden(j.project.Apply(b.X), p.b1)
}
