package infer

import (
	"fmt"

	"rivulet/graph"
)

// convolution is what GCN, GraphSAGE and Cheby (K=2) have in common: two layers, each the scaled sum over a node's messages
// x Wn plus, where there is one, x Ws of the node itself, plus a bias; a relu between them.
//
//	p = out(Σ B in·x Wn1) + x Ws1 + b1    h = relu(p)    logits = out(Σ B in·h Wn2) + h Ws2 + b2
//
// A model says its scaling and its weights; the rest is here.
type convolution struct {
	scaling
	first  *graph.Dense // [Wn1 | Ws1] or Wn1 alone, so that one product reads x for both
	second *graph.Dense // [Wn2 | Ws2] or Wn2 alone
	b1, b2 []float32    // h, C
}

// newConvolution puts the weights side by side; ws1 and ws2 are nil where there are none.
func newConvolution(s scaling, wn1, ws1, wn2, ws2 *graph.Dense, b1, b2 []float32) *convolution {
	return &convolution{scaling: s, first: beside(wn1, ws1), second: beside(wn2, ws2), b1: b1, b2: b2}
}

// beside returns [a | b | …] without those that are nil; the memory of a where it is alone.
func beside(a *graph.Dense, more ...*graph.Dense) *graph.Dense {
	width := a.Cols
	for _, b := range more {
		if b != nil {
			width += b.Cols
		}
	}
	if width == a.Cols {
		return a
	}
	out := graph.NewDense(a.Rows, width)
	for i := range out.Rows {
		row := out.Row(i)
		row = row[copy(row, a.Row(i)):]
		for _, b := range more {
			if b != nil {
				row = row[copy(row, b.Row(i)):]
			}
		}
	}
	return out
}

func (c *convolution) hidden() int  { return len(c.b1) }
func (c *convolution) classes() int { return len(c.b2) }

// activate makes h of a layer's sum: p + x Ws1 + b1, relu. z is the node's row of x [Wn1 | Ws1].
func (c *convolution) activate(p, z []float32) {
	if self := z[len(p):]; len(self) > 0 {
		graph.Add(p, self)
	}
	for k, b := range c.b1 {
		p[k] = max(p[k]+b, 0)
	}
}

// close adds h Ws2 + b2 to the logits; t is the node's row of h [Wn2 | Ws2].
func (c *convolution) close(logits, t []float32) {
	if self := t[len(logits):]; len(self) > 0 {
		graph.Add(logits, self)
	}
	graph.Add(logits, c.b2)
}

// tables computes, with in* and out* the scales of degree + 1 (every node has met the arrival) and in those of the graph as
// it is,
//
//	u0 = in* x Wn1    p_j = out*_j (Σ_k B_jk in_k x_k Wn1 [+ u0_j]) + x_j Ws1 + b1    u1 = in* relu(p) Wn2    c = in* out* 1[p>0]
//
// u0_j in brackets where there are self-loops. c is what the arrival sends to itself through j, linearised at j's relu.
func (c *convolution) tables(adj *graph.CSR, x Inputs) *Tables {
	z := x.Project(c.first)
	checkGraph(adj, z.Rows, "features")
	m, width := adj.Rows, c.hidden()
	h := newHost(adj, c.scaling)
	metIn, metOut := c.all(h.degrees, 1)
	t := &Tables{U: []*graph.Dense{graph.NewDense(m, width), graph.NewDense(m, c.classes())}, C: graph.NewDense(m, width)}
	graph.ParallelRows(m, (adj.NNZ()+m)*width, func(lo, hi int) {
		s := newScratch(width)
		for j := lo; j < hi; j++ {
			clear(s.row)
			s.gather(adj, j, h.in, z)
			s.finish(c.loops, metIn[j], metOut[j], z.Row(j))
			c.activate(s.row, z.Row(j))
			u0, back := t.U[0].Row(j), t.C.Row(j)
			graph.Axpy(u0, metIn[j], z.Row(j))
			for k, v := range s.row {
				if v > 0 {
					back[k] = metIn[j] * metOut[j]
				}
				s.row[k] = metIn[j] * v
			}
			s.addProduct(t.U[1].Row(j), c.second)
		}
	})
	return t
}

// frozen deploys the model on tables of T or S.
func (c *convolution) frozen(name string, t *Tables, pre *Preprocess) Deployment {
	h, classes := c.hidden(), c.classes()
	if len(t.U) != 2 || !hasShape(t.U[0], t.Nodes(), h) || !hasShape(t.U[1], t.Nodes(), classes) || !hasShape(t.C, t.Nodes(), h) {
		panic(fmt.Sprintf("infer: %s of %d hidden units and %d classes on %s, wants u0 and c m×%d, u1 m×%d",
			name, h, classes, t.shapes(), h, classes))
	}
	return &frozenConvolution{convolution: c, project: pre.Fold(c.first), tables: beside(t.U[0], t.C, t.U[1])}
}

type frozenConvolution struct {
	*convolution
	project *Projection
	tables  *graph.Dense // m×(2h+C): u0, c, u1 side by side, so that a neighbour is one stretch of memory
}

func (f *frozenConvolution) Nodes() int { return f.tables.Rows }

// arriving is a batch on its way through the layers.
type arriving struct {
	*Batch
	in, out []float32    // n: scales of the true degrees
	z       *graph.Dense // n×h or n×2h: x [Wn1 | Ws1]
}

func (f *frozenConvolution) enter(b *Batch) *arriving {
	b.check(f.Nodes())
	a := &arriving{Batch: b, in: make([]float32, b.Len()), out: make([]float32, b.Len()), z: f.project.Apply(b.X)}
	for i := range a.in {
		a.in[i], a.out[i] = f.scales(float64(b.degree(i)))
	}
	return a
}

// among adds what arrival i gets from the batch and, where there are self-loops, from itself: ã(in·z), leading columns of z.
func (f *frozenConvolution) among(dst []float32, a *arriving, i int, z *graph.Dense) {
	if f.loops {
		graph.Axpy(dst, a.in[i], z.Row(i))
	}
	if a.Adj == nil {
		return
	}
	cols, _ := a.Adj.Row(i)
	for _, j := range cols {
		graph.Axpy(dst, a.in[j], z.Row(int(j)))
	}
}

// layer1 sets h to arrival i's hidden state; h is zero on entry, read begins with a·u0.
//
//	p = out(a·u0 + [in z] + ã(in z)) + x Ws1 + b1    h = relu(p)
func (f *frozenConvolution) layer1(h, read []float32, a *arriving, i int) {
	f.among(h, a, i, a.z)
	for k := range h {
		h[k] = a.out[i] * (read[k] + h[k])
	}
	f.activate(h, a.z.Row(i))
}

// Logits computes, after layer1,
//
//	logits = out(a·u1 + [in h Wn2] + ã(in h Wn2)) + h Ws2 + b2 + in·out ((a·c)∘z) Wn2
//
// in two passes over the batch, as the second layer reads its neighbours' first; everything of the width h is done in the
// first.
func (f *frozenConvolution) Logits(b *Batch) *graph.Dense {
	a := f.enter(b)
	hidden, n := f.hidden(), b.Len()
	logits, t := graph.NewDense(n, f.classes()), graph.NewDense(n, f.second.Cols)
	work := b.stored()*f.tables.Cols + n*hidden*(f.second.Cols+f.classes())
	graph.ParallelRows(n, work, func(lo, hi int) {
		h, nz := make([]float32, hidden), graph.NewNonZeros(hidden)
		b.eachRead(lo, hi, f.tables, f.tables.Cols, func(i int, read []float32) {
			clear(h)
			f.layer1(h, read, a, i)
			nz.Set(h)
			nz.AddTo(t.Row(i), f.second)

			out, back, z := logits.Row(i), read[hidden:2*hidden], a.z.Row(i)
			for k := range back {
				back[k] *= a.in[i] * z[k]
			}
			nz.Set(back)
			nz.AddTo(out, f.second)
			graph.Add(out, read[2*hidden:])
		})
	})
	for i := range n {
		out := logits.Row(i)
		f.among(out, a, i, t)
		for k := range out {
			out[k] *= a.out[i]
		}
		f.close(out, t.Row(i))
	}
	return logits
}

// Embeddings are the hidden states of the arrivals after the relu, n×h.
func (f *frozenConvolution) Embeddings(b *Batch) *graph.Dense {
	a := f.enter(b)
	out := graph.NewDense(b.Len(), f.hidden())
	graph.ParallelRows(out.Rows, b.stored()*out.Cols, func(lo, hi int) {
		b.eachRead(lo, hi, f.tables, out.Cols, func(i int, read []float32) { f.layer1(out.Row(i), read, a, i) })
	})
	return out
}
