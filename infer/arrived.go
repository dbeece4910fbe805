package infer

import (
	"rivulet/graph"
	"rivulet/infer/attach"
)

// Growable is a frozen deployment that can compute tables for the arrivals of a batch, for a later edge of a weight
// ([ArrivedTables]). Every frozen deployment of a model is one.
type Growable interface {
	Deployment
	arrivedTables(b *attach.Batch, edge float64) *Tables
}

// ArrivedTables returns the tables of the arrivals of a batch, in the widths of the model's tables: the rows of
// [Network.Tables] that later arrivals would read if these arrivals were nodes of the graph, for edges of each weight
// one below the other.
func ArrivedTables(d Growable, b *attach.Batch, edges []float32) *Tables {
	all := make([]*Tables, len(edges))
	for k, w := range edges {
		all[k] = d.arrivedTables(b, float64(w))
	}
	return Below(all...)
}

// An arrival's own tables follow docs/algorithm.md, section 2, with the arrival as node j: computed as if it had one
// neighbour more, the later arrival. Its neighbours send it the messages that every arrival reads of them: Σ_k B_jk x_k
// W/√D_k becomes a·u0 (on S r·u0'), as the tables of neighbour k count the arrival as their one neighbour more, plus
// ã(q z) of the batch. With T's tables that is exact for one arrival joined alone, except for APPNP, which misses walks
// around the arrival longer than i→j→i.

// arrivedTables follows [convolution.tables] with the arrival as node j: its neighbours send it the same messages as in
// Logits, with its own that come back.
//
//	p̃^l = out*(a·u_{l−1} + ã(in z^l) + D^{l−1} Wn [+ in* h̃^{l−1} Wn]) + h̃^{l−1} Ws + b
func (f *frozenConvolution) arrivedTables(b *attach.Batch, edge float64) *Tables {
	n := b.Len()
	t := &Tables{C: graph.NewDense(n, f.back())}
	for _, l := range f.layers {
		t.U = append(t.U, graph.NewDense(n, l.width()))
	}
	last := len(f.layers) - 1
	met := make([]*graph.Dense, last) // h̃^{l−1}·w, of the first layer as it is
	for k, l := range f.layers[1:last] {
		met[k+1] = graph.NewDense(n, l.w.Cols)
	}
	f.walk(b, look{received: func(a *layerBatch, s *scratch, i int, u []float32) {
		layer := a.n
		l, next := f.layers[layer], f.layers[layer+1]
		z := a.z
		if layer > 0 {
			z = met[layer]
		}
		in, out := f.At(float64(b.Degree(i)) + edge)
		back := float32(edge) * in * out
		graph.Axpy(t.U[layer].Row(i), in, z.Row(i))
		copy(s.row, u)
		b.Gather(s.row, i, a.in, a.z, 0)
		s.finish(f.Loops, in, out, z.Row(i))
		l.close(s.row, z.Row(i))
		at := 0
		for _, before := range f.layers[:layer] {
			at += before.width()
		}
		s.open(t.C.Row(i)[at:at+l.width()], back)
		if layer+1 < last {
			s.addProduct(met[layer+1].Row(i), next.w)
			return
		}
		graph.Scale(s.row, in)
		s.addProduct(t.U[layer+1].Row(i), next.w)
		if f.scaled() {
			t.C.Row(i)[t.C.Cols-1] = back
		}
	}})
	return t
}
