package infer

import (
	"fmt"
	"math"
	"sync"

	"rivulet/graph"
)

// SGC is Simple Graph Convolution with K = 2 hops (Wu et al., "Simplifying Graph Convolutional Networks", 2019):
// logits = Â² X W + b. Everything is linear in z = xW, so W is applied first and only C columns travel.
type SGC struct {
	W *graph.Dense // d×C
	B []float32    // C
}

// NewSGC checks the shapes of the weights.
func NewSGC(w *graph.Dense, b []float32) (*SGC, error) {
	if len(b) != w.Cols {
		return nil, fmt.Errorf("sgc: lin.bias has %d values, lin.weight %d columns", len(b), w.Cols)
	}
	return &SGC{W: w, B: b}, nil
}

func buildSGC(p *params) *SGC {
	w := p.free("lin.weight")
	return &SGC{W: w, B: p.sized("lin.bias", 1, w.Cols).Data}
}

// Name is the architecture.
func (m *SGC) Name() string { return "sgc" }

// Features is d.
func (m *SGC) Features() int { return m.W.Rows }

// Classes is C.
func (m *SGC) Classes() int { return m.W.Cols }

// Params are lin.weight [d, C] and lin.bias [1, C], as PyTorch Geometric's SGConv names them.
func (m *SGC) Params() []Param {
	return []Param{{"lin.weight", m.W}, {"lin.bias", &graph.Dense{Rows: 1, Cols: len(m.B), Data: m.B}}}
}

// Tables are, with D_j the degree of j including its self-loop (docs/algorithm.md, section 2),
//
//	u0_j = Z_j/√(D_j+1)    u1_j = (Σ_k B_jk Z_k/√D_k + u0_j)/(D_j+1)    c_j = 1/(D_j+1)
func (m *SGC) Tables(adj *graph.CSR, x Inputs) *Tables {
	return SGCTables(adj, x.Project(m.W))
}

// SGCTables are the tables for any Z = XW (m×C).
func SGCTables(adj *graph.CSR, z *graph.Dense) *Tables {
	checkGraph(adj, z.Rows, "features")
	n := adj.Rows
	u0, u1, c := graph.NewDense(n, z.Cols), graph.NewDense(n, z.Cols), graph.NewDense(n, 1)
	scaled := graph.NewDense(n, z.Cols) // Z/√D
	for j, deg := range adj.RowSums() {
		met := 2 + float64(deg) // D_j + 1
		c.Data[j] = float32(1 / met)
		graph.Axpy(scaled.Row(j), float32(1/math.Sqrt(met-1)), z.Row(j))
		graph.Axpy(u0.Row(j), float32(1/math.Sqrt(met)), z.Row(j))
	}
	graph.MulTo(u1, adj, scaled)
	for j := range n {
		row := u1.Row(j)
		graph.Add(row, u0.Row(j))
		for k := range row {
			row[k] *= c.Data[j]
		}
	}
	return &Tables{U: []*graph.Dense{u0, u1}, C: c}
}

// Frozen deploys the model on tables of T or S.
func (m *SGC) Frozen(t *Tables, pre *Preprocess) Deployment {
	return newFrozenSGC(t, pre.Fold(m.W), m.B)
}

func newFrozenSGC(t *Tables, project *Projection, bias []float32) *frozenSGC {
	classes := len(bias)
	if len(t.U) != 2 || !hasShape(t.U[1], t.Nodes(), classes) || t.U[0].Cols != classes || !hasShape(t.C, t.Nodes(), 1) {
		panic(fmt.Sprintf("infer: sgc of %d classes on %s, wants u0 and u1 m×C, c m×1", classes, t.shapes()))
	}
	return &frozenSGC{project: project, bias: bias, tables: beside(t.U[0], t.U[1], t.C).Aligned()}
}

type frozenSGC struct {
	project *Projection
	bias    []float32
	tables  *graph.Dense // m×(2C+1) and what aligns it: u0, u1, c side by side, so that a neighbour is one stretch of memory
}

func (f *frozenSGC) Nodes() int { return f.tables.Rows }

// Logits computes, with q = diag(D_i^-½),
//
//	h1 = q(a·u0 + qz + ã(qz))    h = q(a·u1 + q h1 + ã(q h1)) + q²(a·c)∘z + b
func (f *frozenSGC) Logits(b *Batch) *graph.Dense {
	b.check(f.Nodes())
	n, classes := b.Len(), len(f.bias)
	z, q := f.project.Apply(b.X), b.invSqrtDegrees()
	out := graph.NewDense(n, classes)
	// first puts h1 and what h reads besides it into one row each; read is a·[u0, u1, c].
	first := func(read, h1, h []float32, i int) {
		spreadRow(h1, b.Adj, q, z, i)
		back, zi, u1 := q[i]*q[i]*read[2*classes], z.Row(i), read[classes:2*classes]
		for k, own := range h1 {
			h1[k] = q[i] * (read[k] + own)
			h[k] = float32(q[i]*u1[k]) + float32(back*zi[k]) + f.bias[k]
		}
	}
	second := func(from, h []float32, i int) {
		for k, v := range from {
			h[k] += float32(q[i] * v)
		}
	}
	work := b.stored()*f.tables.Cols + (4*n+edges(b.Adj))*classes
	if b.Adj == nil { // nobody else reads h1
		graph.ParallelRows(n, work, func(lo, hi int) {
			h1 := make([]float32, classes)
			b.eachRead(lo, hi, f.tables, f.tables.Cols, func(i int, read []float32) {
				first(read, h1, out.Row(i), i)
				for k := range h1 {
					h1[k] *= q[i]
				}
				second(h1, out.Row(i), i)
			})
		})
		return out
	}
	h1 := graph.NewDense(n, classes)
	graph.ParallelRows(n, work, func(lo, hi int) {
		b.eachRead(lo, hi, f.tables, f.tables.Cols, func(i int, read []float32) { first(read, h1.Row(i), out.Row(i), i) })
	})
	graph.ParallelRows(n, work, func(lo, hi int) {
		sum := make([]float32, classes)
		for i := lo; i < hi; i++ {
			spreadRow(sum, b.Adj, q, h1, i)
			second(sum, out.Row(i), i)
		}
	})
	return out
}

// edges is the number of stored entries, 0 of none.
func edges(adj *graph.CSR) int {
	if adj == nil {
		return 0
	}
	return adj.NNZ()
}

// spread sets dst = qz + ã(qz): what an arrival gets from itself and from the batch, before its own q.
func spread(dst *graph.Dense, adj *graph.CSR, q []float32, z *graph.Dense) {
	for i := range dst.Rows {
		spreadRow(dst.Row(i), adj, q, z, i)
	}
}

// spreadRow is row i of spread, of the leading columns of z.
func spreadRow(out []float32, adj *graph.CSR, q []float32, z *graph.Dense, i int) {
	own := z.Row(i)
	for k := range out {
		out[k] = q[i] * own[k]
	}
	if adj == nil {
		return
	}
	cols, _ := adj.Row(i)
	for _, j := range cols {
		graph.Axpy(out, q[j], z.Row(int(j)))
	}
}

// Joint deploys the model on the graph with the batch in it: rows of the arrivals of Â(𝔸)² [Z; z] + b.
func (m *SGC) Joint(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	return m.joint(adj, x, pre)
}

func (m *SGC) joint(adj *graph.CSR, x Inputs, pre *Preprocess) *jointSGC {
	z := x.Project(m.W)
	checkGraph(adj, z.Rows, "features")
	return &jointSGC{host: newHost(adj, normalised), project: pre.Fold(m.W), bias: m.B, z: z,
		raw: pre.Identity(m.Features()), x: sync.OnceValue(x.Matrix)}
}

type jointSGC struct {
	host    *host
	project *Projection
	bias    []float32
	z       *graph.Dense // m×C
	raw     *Projection  // pre(x) itself, for embeddings
	x       func() *graph.Dense
}

func (j *jointSGC) Nodes() int { return j.host.adj.Rows }

func (j *jointSGC) Logits(b *Batch) *graph.Dense { return j.logits(b, false) }

func (j *jointSGC) logits(b *Batch, nearOnly bool) *graph.Dense {
	b.check(j.Nodes())
	return addRow(twoHops(j.host.join(b), j.z, j.project.Apply(b.X), nearOnly), j.bias)
}

// twoHops returns the arrivals' rows of Â(𝔸)² [zg; zb].
func twoHops(joint *joined, zg, zb *graph.Dense, nearOnly bool) *graph.Dense {
	g := joint.nodes(nearOnly, zg.Cols, zg, zb)
	return joint.arrivals(zg.Cols, g, nearOnly, joint.arrivals(zg.Cols, zg, false, zb))
}

// GraphLogits returns the logits of the graph's own nodes with the batch in the graph, m×C.
func (j *jointSGC) GraphLogits(b *Batch) *graph.Dense {
	nodes, _ := j.everywhere(b)
	return nodes
}

func (j *jointSGC) everywhere(b *Batch) (nodes, arrivals *graph.Dense) {
	b.check(j.Nodes())
	joint, zb, width := j.host.join(b), j.project.Apply(b.X), j.z.Cols
	g, a := joint.nodes(false, width, j.z, zb), joint.arrivals(width, j.z, false, zb)
	return addRow(joint.nodes(false, width, g, a), j.bias), addRow(joint.arrivals(width, g, false, a), j.bias)
}

// Embeddings returns what the weights are applied to, Â(𝔸)² [X; x], n×d. The first call makes X of the graph dense, and
// it stays in memory.
func (j *jointSGC) Embeddings(b *Batch) *graph.Dense {
	b.check(j.Nodes())
	return twoHops(j.host.join(b), j.x(), j.raw.Apply(b.X), true)
}
