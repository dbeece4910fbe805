package infer

import (
	"math"

	"rivulet/graph"
)

// Attachable is a frozen deployment that tells what later arrivals would read of the arrivals of a batch: rows of
// [Model.Tables], as if the arrivals had become nodes of the graph. Every frozen deployment of a model is one.
type Attachable interface {
	Deployment
	// ArrivedTables returns the tables of the arrivals, n rows each, in the widths of the model's tables.
	ArrivedTables(b *Batch) *Tables
}

// An arrival's own tables are those of docs/algorithm.md, section 2, with the arrival for node j: computed as if it had one
// neighbour more, the later arrival. What its neighbours send is what every arrival reads of them: Σ_k B_jk x_k W/√D_k becomes
// a·u0 (on S r·u0'), as the tables of neighbour k count the arrival as their one neighbour more, plus ã(q z) of the batch.
// Where the tables are T's that is exact for one arrival joined alone, but for APPNP, whose walks around the arrival longer
// than i→j→i are missing.

// ArrivedTables are, for D_i = 1 + known neighbours + degree in ã and z = x W,
//
//	u0 = z/√(D_i+1)    u1 = (a·u0 + ã(q z) + u0_i)/(D_i+1)    c = 1/(D_i+1)
func (f *frozenSGC) ArrivedTables(b *Batch) *Tables {
	b.check(f.Nodes())
	z := f.project.Apply(b.X)
	read := b.read(f.tables)
	q, n, classes := b.invSqrtDegrees(), b.Len(), len(f.bias)
	u0, u1, c := graph.NewDense(n, classes), graph.NewDense(n, classes), graph.NewDense(n, 1)
	for i := range n {
		met := 2 + float64(b.degree(i)) // D_i + 1
		c.Data[i] = float32(1 / met)
		graph.Axpy(u0.Row(i), float32(1/math.Sqrt(met)), z.Row(i))
		sum := u1.Row(i)
		b.gather(sum, i, q, z)
		for k := range sum {
			sum[k] = (read.Row(i)[k] + sum[k] + u0.Row(i)[k]) * c.Data[i]
		}
	}
	return &Tables{U: []*graph.Dense{u0, u1}, C: c}
}

// gather adds ã(in·z) of arrival i to dst.
func (b *Batch) gather(dst []float32, i int, in []float32, z *graph.Dense) {
	if b.Adj == nil {
		return
	}
	cols, _ := b.Adj.Row(i)
	for _, j := range cols {
		graph.Axpy(dst, in[j], z.Row(int(j)))
	}
}

// ArrivedTables are, with in* and out* the scales of deg_i + 1 and in those of deg_i (see [convolution.tables]),
//
//	u0 = in* x Wn1    p = out*(a·u0 + ã(in z) [+ u0_i]) + x Ws1 + b1    u1 = in* relu(p) Wn2    c = in* out* 1[p>0]
func (f *frozenConvolution) ArrivedTables(b *Batch) *Tables {
	a := f.enter(b)
	hidden, n := f.hidden(), b.Len()
	t := &Tables{U: []*graph.Dense{graph.NewDense(n, hidden), graph.NewDense(n, f.classes())}, C: graph.NewDense(n, hidden)}
	graph.ParallelRows(n, (b.stored()+n)*f.tables.Cols, func(lo, hi int) {
		s := newScratch(hidden)
		b.eachRead(lo, hi, f.tables, f.tables.Cols, func(i int, read []float32) {
			in, out := f.scales(float64(b.degree(i)) + 1)
			graph.Axpy(t.U[0].Row(i), in, a.z.Row(i))
			copy(s.row, read)
			b.gather(s.row, i, a.in, a.z)
			s.finish(f.loops, in, out, a.z.Row(i))
			f.activate(s.row, a.z.Row(i))
			back := t.C.Row(i)
			for k, v := range s.row {
				if v > 0 {
					back[k] = in * out
				}
				s.row[k] = in * v
			}
			s.addProduct(t.U[1].Row(i), f.second)
		})
	})
	return t
}

// ArrivedTables are, with n_i = (D_i+1)^-½ and h^t the arrival's own states of [frozenAPPNP.Logits],
//
//	z̃⁰ = h⁰    z̃^{t+1} = (1−α)n(a·u_t + ã(q h^t) + (1−α)q(a·c)h^{t−1} + n z̃^t) + αh⁰    u_t = n z̃^t    c = 1/(D_i+1)
//
// What comes back to the arrival through its neighbours belongs to what they send it.
func (f *frozenAPPNP) ArrivedTables(b *Batch) *Tables {
	b.check(f.Nodes())
	n := b.Len()
	t := &Tables{C: graph.NewDense(n, 1)}
	met := make([]float32, n)
	for i := range met {
		d := 2 + float64(b.degree(i)) // D_i + 1
		met[i], t.C.Data[i] = float32(1/math.Sqrt(d)), float32(1/d)
	}
	w := f.enter(b)
	z, sum := w.first.Clone(), make([]float32, len(f.b2)) // z̃^t
	for range f.hops {
		t.U = append(t.U, scaled(met, z))
		for i := range n {
			clear(sum)
			b.gather(sum, i, w.q, w.h)
			back, u := w.reads(i)
			out, last, own := z.Row(i), w.before.Row(i), w.first.Row(i)
			for k := range out {
				received := u[k] + sum[k] + back/w.q[i]*last[k]
				out[k] = (1-f.alpha)*met[i]*(received+met[i]*out[k]) + f.alpha*own[k]
			}
		}
		w.step()
	}
	return t
}
