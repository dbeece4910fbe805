package infer

import (
	"slices"
	"sync"

	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// mixture is a model of one layer whose answers z = xW are propagated K hops and mixed: logits = Σ_t w_t Â^t z + b.
// SGC is the last hop alone.
type mixture struct {
	net     *Network     // nil of hops alone
	w       *graph.Dense // d×C; nil: the identity of [Network.FrozenFeatures]
	bias    []float32    // C
	hops    int          // K
	all     []float32    // w_0 … w_K
	weights []float32    // the same; nil: the last hop alone
}

func newMixture(m *Network) *mixture {
	all := m.Architecture.Mix(m.Alpha, m.Hops)
	out := &mixture{net: m, w: m.Layers[0].Self, bias: m.Layers[0].Bias, hops: m.Hops, all: all}
	if slices.ContainsFunc(all[:m.Hops], func(w float32) bool { return w != 0 }) {
		out.weights = all
	}
	return out
}

func (m *mixture) depth() int                         { return m.hops }
func (m *mixture) first() *graph.Dense                { return m.w }
func (m *mixture) enter(xw *graph.Dense) *graph.Dense { return xw }

func (m *mixture) sent(int) int { return len(m.bias) }

func (m *mixture) state(hop int) stateWidths {
	w := stateWidths{z: len(m.bias)}
	if hop+1 < m.depth() {
		w.met = w.z
	}
	if m.weights != nil && hop < m.depth() {
		w.rest = w.z
	}
	return w
}

func (m *mixture) part(k int) (u, ways int) {
	if k == 0 {
		ways = max(1, m.hops-1)
	}
	return len(m.bias), ways
}

// HopTables are the tables of K hops of Â for any Z = XW (m×C), with D_j the degree of j including its self-loop,
// n_j = (D_j+1)^-½ and Z^t = Â^t Z on the graph alone (docs/algorithm.md, section 2):
//
//	Z̃⁰ = Z    Z̃^{t+1}_j = n_j(Σ_k B_jk Z^t_k/√D_k + n_j Z̃^t_j)    u_t = n Z̃^t, t = 0 … K−1
//	c = n², n⁴, … (at least the first)
func HopTables(adj *graph.CSR, z *graph.Dense, hops int, edges ...float32) *Tables {
	checkGraph(adj, z.Rows, "features")
	return LinearRecurrence(z.Cols, hops).tablesAt(adj, z, edges)
}

// begin and step compute [HopTables], with u_t in place of Z̃^t in the state: u_{t+1} = (Σ_k B_jk Z^t_k/√D_k +
// u_t)/(D_j+1).
func (m *mixture) begin(x *node) {
	graph.Axpy(x.u, x.metIn, x.z)
	waysBack(x.ways, x.degree, x.edge)
	copy(x.nextZ, x.z)
	copy(x.nextMet, x.u)
	for k := range x.nextRest {
		x.nextRest[k] = m.all[0] * x.z[k]
	}
}

func (m *mixture) step(hop int, s *scratch, x *node) {
	if len(x.u) > 0 {
		copy(x.u, x.sum)
		graph.Add(x.u, x.met)
		graph.Scale(x.u, float32(1/(1+x.edge+float64(x.degree))))
		copy(x.nextMet, x.u)
	}
	if len(x.nextZ) == 0 {
		return
	}
	copy(s.row, x.sum)
	graph.Axpy(s.row, x.in, x.z)
	graph.Scale(s.row, x.in)
	copy(x.nextZ, s.row)
	mixed, last := x.nextRest, hop+1 == m.hops
	if last {
		mixed = x.nextZ // the logits
	}
	if len(x.rest) > 0 {
		copy(mixed, x.rest)
		graph.Axpy(mixed, m.all[hop+1], s.row)
	}
	if last {
		graph.Add(mixed, m.bias)
	}
}

// waysBack sets row to the ways back i→j→i through a node of a degree that has one neighbour more, by an edge of weight
// w: w/(D_j+w), w/(D_j+w)², … The arrival reads them by its edge, so that both ways along the edge count its weight.
func waysBack(row []float32, degree float32, edge float64) {
	share := 1 / (1 + edge + float64(degree))
	power := edge * share
	for k := range row {
		row[k] = float32(power)
		power *= share
	}
}

// ways are [waysBack] of n nodes, n×columns.
func ways(n, columns int, degree func(j int) float32, edge float64) *graph.Dense {
	c := graph.NewDense(n, columns)
	for j := range n {
		waysBack(c.Row(j), degree(j), edge)
	}
	return c
}

func (m *mixture) frozen(t *Tables, project *preprocess.Projection) Deployment {
	return &frozenMixture{mixture: m, project: project, tables: graph.Beside(append(slices.Clip(t.U), t.C)...).Aligned()}
}

type frozenMixture struct {
	*mixture
	project *preprocess.Projection
	tables  *graph.Dense // u_0, …, c and padding side by side, so that a neighbour is one stretch of memory
}

func (f *frozenMixture) Nodes() int { return f.tables.Rows }

// Logits computes, with q = diag(D_i^-½), h⁰ = z and c^m the columns of c,
//
//	h^{t+1} = q(a·u_t + q h^t + ã(q h^t)) + q² Σ_{m=1…t} (a·c^m)∘h^{t−m}    logits = Σ_t w_t h^t + b
func (f *frozenMixture) Logits(b *attach.Batch) *graph.Dense {
	b.Check(f.Nodes())
	n, classes := b.Len(), len(f.bias)
	work := f.project.Work(b.X) + b.Stored()*f.tables.Cols + 4*n*classes
	if b.Adj == nil {
		p := nodePasses.Get().(*nodePass)
		*p = nodePass{f: f, b: b, z: b.Dense(n, classes), out: b.Dense(n, classes), q: b.InvSqrtDegrees(1)}
		graph.Parallel(n, work, p)
		out := p.out
		*p = nodePass{}
		nodePasses.Put(p)
		return out
	}
	return f.among(b, work)
}

// nodePasses are used again, so that a batch allocates nothing.
var nodePasses = sync.Pool{New: func() any { return new(nodePass) }}

// nodePass is a node batch on its way through the model: no arrival reads another's hops, so a few arrivals go all the
// way while their numbers are in the processor's caches.
type nodePass struct {
	f      *frozenMixture
	b      *attach.Batch
	z, out *graph.Dense // n×C
	q      []float32
}

// Rows takes arrivals lo to hi through the model.
func (p *nodePass) Rows(lo, hi int) {
	f := p.f
	f.project.AddRows(p.z, p.b.X, lo, hi)
	classes := len(f.bias)
	s := borrow(1, f.room()+classes)
	kept := s.row
	sum := kept[f.room():]
	m := mixtureRun{frozenMixture: f, kept: kept[:f.room()]}
	p.b.EachRead(lo, hi, f.tables, f.tables.Cols, func(i int, read []float32) {
		m.q, m.z, m.out = p.q[i], p.z.Row(i), p.out.Row(i)
		p.b.SpreadRow(sum, i, p.q, p.z, 0)
		m.begin(read, sum)
		for t := 1; t < f.hops; t++ {
			for k, v := range m.kept[(t-1)*classes : t*classes] {
				sum[k] = m.q * v
			}
			m.step(t, sum)
		}
		m.end()
	})
	s.giveBack()
}

// among is Logits of a graph batch: each hop is a pass over the batch, as it reads the neighbours' hops before.
func (f *frozenMixture) among(b *attach.Batch, work int) *graph.Dense {
	n, classes := b.Len(), len(f.bias)
	z, q, out := b.Dense(n, classes), b.InvSqrtDegrees(1), b.Dense(n, classes)
	graph.ParallelRows(n, work, func(lo, hi int) { f.project.AddRows(z, b.X, lo, hi) })
	work = b.Stored()*f.tables.Cols + (4*n+b.Adj.NNZ())*classes
	hops := b.Dense(n, f.room())
	for t := range f.hops {
		graph.ParallelRows(n, work, func(lo, hi int) {
			m, sum := mixtureRun{frozenMixture: f}, make([]float32, classes)
			each := func(i int, read []float32) {
				m.q, m.z, m.kept, m.out = q[i], z.Row(i), hops.Row(i), out.Row(i)
				if t == 0 {
					b.SpreadRow(sum, i, q, z, 0)
					m.begin(read, sum)
				} else {
					b.SpreadRow(sum, i, q, hops, (t-1)*classes)
					m.step(t, sum)
				}
				if t+1 == f.hops {
					m.end()
				}
			}
			if t == 0 {
				b.EachRead(lo, hi, f.tables, f.tables.Cols, each)
				return
			}
			for i := lo; i < hi; i++ {
				each(i, nil)
			}
		})
	}
	return out
}

// room is the number of numbers that are kept of an arrival on its way: h^1 … h^{K−1}, and a·c without its last
// column, which only begin reads.
func (f *frozenMixture) room() int { return (f.hops-1)*len(f.bias) + max(0, f.hops-2) }

// mixtureRun is one arrival on its way through the hops.
type mixtureRun struct {
	*frozenMixture
	q            float32
	z, kept, out []float32 // h⁰; h^1 … and a·c; h^K
}

// hop is h^t, t ≥ 1.
func (m *mixtureRun) hop(t int) []float32 {
	if t == m.hops {
		return m.out
	}
	return m.kept[(t-1)*len(m.bias) : t*len(m.bias)]
}

// begin sets h^1, and the parts of later hops that come from the tables and from h⁰; sum is z's spread. It adds the
// bias to the last hop if the model returns that hop alone. begin and step take most of an SGC's time, so they go over
// a row as seldom as possible.
func (m *mixtureRun) begin(read, sum []float32) {
	classes, last, q := len(m.bias), m.hops, m.q
	h, u := m.hop(1), read[:classes]
	for k, v := range sum {
		h[k] = q * (u[k] + v)
	}
	for t := 2; t <= last; t++ {
		h, u, back := m.hop(t), read[(t-1)*classes:t*classes], q*q*read[last*classes+t-2]
		z := m.z[:len(u)]
		if t == last && m.weights == nil {
			bias := m.bias[:len(u)]
			for k, v := range u {
				h[k] = float32(q*v) + float32(back*z[k]) + bias[k]
			}
			continue
		}
		for k, v := range u {
			h[k] = float32(q*v) + float32(back*z[k])
		}
	}
	if last == 1 && m.weights == nil {
		graph.Add(h, m.bias)
	}
	if last > 2 {
		copy(m.kept[(last-1)*classes:], read[last*classes:])
	}
}

// step completes h^{t+1}; sum is the spread of h^t.
func (m *mixtureRun) step(t int, sum []float32) {
	h := m.hop(t + 1)
	for k, v := range sum {
		h[k] += float32(m.q * v)
	}
	for way := 1; way < t; way++ { // way = t is h⁰'s, in begin
		graph.Axpy(h, m.q*m.q*m.kept[(m.hops-1)*len(m.bias)+way-1], m.hop(t-way))
	}
}

// end mixes the hops.
func (m *mixtureRun) end() {
	if m.weights == nil {
		return
	}
	last := m.hops
	for k, v := range m.out {
		m.out[k] = float32(m.weights[last]*v) + float32(m.weights[0]*m.z[k]) + m.bias[k]
	}
	for t := 1; t < last; t++ {
		graph.Axpy(m.out, m.weights[t], m.hop(t))
	}
}

// arrivedTables are, with n_i = (D_i+w)^-½ and h^t the arrival's own hops of Logits,
//
//	z̃⁰ = z    z̃^{t+1} = n(a·u_t + ã(q h^t) + q Σ_{m=1…t} (a·c^m)∘h^{t−m} + n z̃^t)
//	u_t = n z̃^t    c = w n², w n⁴, …
func (f *frozenMixture) arrivedTables(b *attach.Batch, edge float64) *Tables {
	b.Check(f.Nodes())
	z, read, q := f.project.Apply(b.X), b.Read(f.tables), b.InvSqrtDegrees(1)
	n, classes := b.Len(), len(f.bias)
	t, met := &Tables{C: ways(n, max(1, f.hops-1), b.Degree, edge)}, b.InvSqrtDegrees(1+edge)
	t.U = append(t.U, scaled(met, z))
	h := []*graph.Dense{z} // h^0 …
	for hop := 1; hop < f.hops; hop++ {
		u := graph.NewDense(n, classes)
		var next *graph.Dense
		if hop+1 < f.hops {
			next = graph.NewDense(n, classes)
		}
		for i := range n {
			got := read.Row(i)
			sum := u.Row(i)
			b.Gather(sum, i, q, h[hop-1], 0)
			for k := range sum {
				sum[k] += got[(hop-1)*classes+k]
			}
			for way := 1; way < hop; way++ {
				graph.Axpy(sum, q[i]*got[f.hops*classes+way-1], h[hop-1-way].Row(i))
			}
			if next != nil {
				for k, own := range h[hop-1].Row(i) {
					next.Row(i)[k] = q[i] * (sum[k] + q[i]*own)
				}
			}
			scale := float32(1 / (1 + edge + float64(b.Degree(i))))
			for k, own := range t.U[hop-1].Row(i) {
				sum[k] = (sum[k] + own) * scale
			}
		}
		t.U, h = append(t.U, u), append(h, next)
	}
	return t
}

// run returns Σ_t w_t Â(𝔸)^t [zg; zb] + b, by Horner's rule.
func (m *mixture) run(j *jointGraph, zg, zb *graph.Dense, all, near bool) (nodes, arrivals *graph.Dense) {
	nodes, arrivals = m.propagate(j, zg, zb, all, near)
	if all {
		nodes.AddRow(m.bias)
	}
	return nodes, arrivals.AddRow(m.bias)
}

// propagate is run without the bias.
func (m *mixture) propagate(j *jointGraph, zg, zb *graph.Dense, all, near bool) (nodes, arrivals *graph.Dense) {
	width := zb.Cols // zg may have more, see newJoint
	near = near && m.weights == nil && m.hops > 1
	nodes, arrivals = zg.Times(m.all[m.hops]), zb.Times(m.all[m.hops])
	for t := m.hops - 1; t >= 0; t-- {
		var next *graph.Dense
		if t > 0 || all {
			next = mixed(j.nodes(near && t == 1, width, nodes, arrivals), m.all[t], zg)
		}
		nodes, arrivals = next, mixed(j.arrivals(width, nodes, near && t == 0, arrivals), m.all[t], zb)
	}
	return nodes, arrivals
}

// mixed adds w·z to a block.
func mixed(block *graph.Dense, w float32, z *graph.Dense) *graph.Dense {
	if w != 0 {
		graph.Axpy(block.Data, w, z.Data)
	}
	return block
}

// embed returns the propagated features that W is applied to, Σ_t w_t Â(𝔸)^t [X; x], n×d. The first call makes X of
// the graph dense, and it stays in memory.
func (m *mixture) embed(j *joint, b *attach.Batch) *graph.Dense {
	b.Check(j.Nodes())
	_, arrivals := m.propagate(j.host.join(b), j.x(), j.raw.Apply(b.X), false, true)
	return arrivals
}
