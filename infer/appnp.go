package infer

import (
	"fmt"

	"rivulet/graph"
)

// APPNP is a multilayer perceptron whose answers are spread by personalised PageRank (Gasteiger et al., "Predict then
// Propagate", 2019): z⁰ = relu(X W1 + b1) W2 + b2, z^{t+1} = (1−α) Â z^t + α z⁰, Hops times.
type APPNP struct {
	W1, W2 *graph.Dense // d×h, h×C
	B1, B2 []float32    // h, C
	Alpha  float32      // α, 0 < α ≤ 1: how much of its own answer a node keeps each hop; 0.1 in docs/algorithm.md
	Hops   int          // 1 … 100; 10 in docs/algorithm.md
}

// maxHops keeps the number of tables, one a hop, within reason.
const maxHops = 100

// NewAPPNP checks the shapes of the weights and the ranges of alpha and hops.
func NewAPPNP(w1, w2 *graph.Dense, b1, b2 []float32, alpha float32, hops int) (*APPNP, error) {
	m := &APPNP{W1: w1, W2: w2, B1: b1, B2: b2, Alpha: alpha, Hops: hops}
	return assemble(m.Name(), m.Params(), buildAPPNP)
}

func buildAPPNP(p *params) *APPNP {
	w1, w2 := p.free("lins.0.weight"), p.free("lins.1.weight")
	p.chain("lins.1.weight", w2, "lins.0.weight", w1)
	m := &APPNP{W1: w1, W2: w2, B1: p.bias("lins.0.bias", w1), B2: p.bias("lins.1.bias", w2)}
	m.Alpha = p.sized("alpha", 1, 1).Data[0]
	hops := p.sized("hops", 1, 1).Data[0]
	switch {
	case p.err != nil:
	case !(m.Alpha > 0 && m.Alpha <= 1):
		p.err = fmt.Errorf("tensor alpha is %v, want more than 0 and at most 1", m.Alpha)
	case !(hops >= 1 && hops <= maxHops) || hops != float32(int(hops)):
		p.err = fmt.Errorf("tensor hops is %v, want a whole number of 1 to %d", hops, maxHops)
	default:
		m.Hops = int(hops)
	}
	return m
}

// Name is the architecture.
func (m *APPNP) Name() string { return "appnp" }

// Features is d.
func (m *APPNP) Features() int { return m.W1.Rows }

// Classes is C.
func (m *APPNP) Classes() int { return m.W2.Cols }

// Params are named as in the state_dict of PyTorch Geometric's MLP. Its APPNP takes α and the number of hops as arguments
// and keeps no tensor of them; here they are the 1×1 tensors alpha and hops, so that the weights are the whole model.
func (m *APPNP) Params() []Param {
	return []Param{
		{"lins.0.weight", m.W1}, {"lins.0.bias", rowOf(m.B1)}, {"lins.1.weight", m.W2}, {"lins.1.bias", rowOf(m.B2)},
		{"alpha", rowOf([]float32{m.Alpha})}, {"hops", rowOf([]float32{float32(m.Hops)})},
	}
}

// perceptron is the part of the model that reads one node at a time.
type perceptron struct {
	w2     *graph.Dense
	b1, b2 []float32
}

func (m *APPNP) perceptron() perceptron { return perceptron{m.W2, m.B1, m.B2} }

// hidden makes relu(x W1 + b1) of x W1, in its memory.
func (p perceptron) hidden(xw *graph.Dense) *graph.Dense {
	addRow(xw, p.b1)
	relu(xw.Data)
	return xw
}

// answers makes z⁰ = relu(x W1 + b1) W2 + b2 of x W1, overwriting it.
func (p perceptron) answers(xw *graph.Dense) *graph.Dense {
	return addRow(graph.MulDense(p.hidden(xw), p.w2), p.b2)
}

// Tables are, with n_j = (D_j+1)^-½ and z^{t+1} = (1−α) Â z^t + α z⁰ on the graph alone (docs/algorithm.md, section 2),
//
//	z̃⁰ = z⁰    z̃^{t+1}_j = (1−α)n_j(Σ_k B_jk z^t_k/√D_k + n_j z̃^t_j) + αz⁰_j    u_t = n z̃^t    c = 1/(D_j+1)
func (m *APPNP) Tables(adj *graph.CSR, x Inputs) *Tables {
	z := m.perceptron().answers(x.Project(m.W1))
	checkGraph(adj, z.Rows, "features")
	t := restartTables(adj, z, 1-m.Alpha, m.Hops)
	t.C = graph.NewDense(adj.Rows, 1)
	for j, deg := range adj.RowSums() {
		t.C.Data[j] = float32(1 / (2 + float64(deg)))
	}
	return t
}

// Frozen deploys the model on tables of T or S.
func (m *APPNP) Frozen(t *Tables, pre *Preprocess) Deployment {
	fits := len(t.U) == m.Hops && hasShape(t.C, t.Nodes(), 1)
	for _, u := range t.U {
		fits = fits && hasShape(u, t.Nodes(), m.Classes())
	}
	if !fits {
		panic(fmt.Sprintf("infer: appnp of %d classes and %d hops on %s, wants %d tables m×C, c m×1", m.Classes(), m.Hops, t.shapes(), m.Hops))
	}
	return &frozenAPPNP{perceptron: m.perceptron(), project: pre.Fold(m.W1), alpha: m.Alpha, hops: m.Hops,
		tables: beside(t.C, t.U...)}
}

type frozenAPPNP struct {
	perceptron
	project *Projection
	alpha   float32
	hops    int
	tables  *graph.Dense // m×(1+hops·C): c, u_0, u_1, … side by side
}

func (f *frozenAPPNP) Nodes() int { return f.tables.Rows }

// Logits computes, with q = diag(D_i^-½), h⁰ = MLP(x) and h⁻¹ = 0,
//
//	h^{t+1} = (1−α)[q(a·u_t + q h^t + ã(q h^t)) + (1−α)q²(a·c)h^{t−1}] + αh⁰
func (f *frozenAPPNP) Logits(b *Batch) *graph.Dense {
	b.check(f.Nodes())
	w := f.enter(b)
	for range f.hops {
		w.step()
	}
	return w.h
}

// walk is a batch on its way through the hops.
type walk struct {
	*frozenAPPNP
	batch                   *Batch
	hop                     int          // t
	first, h, before, spare *graph.Dense // n×C: h⁰, h^t, h^{t−1}, memory
	read                    *graph.Dense // n×(1+hops·C): a·[c, u_0, …]
	q                       []float32
}

func (f *frozenAPPNP) enter(b *Batch) *walk {
	first := f.answers(f.project.Apply(b.X))
	n, classes := b.Len(), len(f.b2)
	return &walk{frozenAPPNP: f, batch: b, first: first, h: first.Clone(), before: graph.NewDense(n, classes),
		spare: graph.NewDense(n, classes), read: b.read(f.tables), q: b.invSqrtDegrees()}
}

// reads gives what arrival i has of the tables at this hop: back, the factor of h^{t−1} in what it gets from its neighbours,
// (1−α)q²(a·c), and u = a·u_t.
func (w *walk) reads(i int) (back float32, u []float32) {
	got, classes := w.read.Row(i), len(w.b2)
	return (1 - w.alpha) * w.q[i] * w.q[i] * got[0], got[1+w.hop*classes : 1+(w.hop+1)*classes]
}

func (w *walk) step() {
	next, keep := w.spare, 1-w.alpha
	spread(next, w.batch.Adj, w.q, w.h)
	for i := range next.Rows {
		back, u := w.reads(i)
		out, last, own := next.Row(i), w.before.Row(i), w.first.Row(i)
		for k := range out {
			out[k] = keep*(w.q[i]*(u[k]+out[k])+back*last[k]) + w.alpha*own[k]
		}
	}
	w.before, w.h, w.spare = w.h, next, w.before
	w.hop++
}

// Embeddings are the hidden layer of the perceptron, n×h, which comes before both the classifier and the propagation.
func (f *frozenAPPNP) Embeddings(b *Batch) *graph.Dense {
	b.check(f.Nodes())
	return f.hidden(f.project.Apply(b.X))
}

// Joint deploys the model on the graph with the batch in it.
func (m *APPNP) Joint(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	z := m.perceptron().answers(x.Project(m.W1))
	checkGraph(adj, z.Rows, "features")
	return &jointAPPNP{perceptron: m.perceptron(), host: newHost(adj, normalised), project: pre.Fold(m.W1), z: z, alpha: m.Alpha, hops: m.Hops}
}

type jointAPPNP struct {
	perceptron
	host    *host
	project *Projection
	z       *graph.Dense // m×C: the graph's nodes' own answers
	alpha   float32
	hops    int
}

func (j *jointAPPNP) Nodes() int { return j.host.adj.Rows }

func (j *jointAPPNP) everywhere(b *Batch) (nodes, arrivals *graph.Dense) {
	b.check(j.Nodes())
	return j.host.join(b).restart(j.z, j.answers(j.project.Apply(b.X)), 1-j.alpha, j.hops)
}

func (j *jointAPPNP) Logits(b *Batch) *graph.Dense {
	_, arrivals := j.everywhere(b)
	return arrivals
}

// GraphLogits returns the logits of the graph's own nodes with the batch in the graph, m×C.
func (j *jointAPPNP) GraphLogits(b *Batch) *graph.Dense {
	nodes, _ := j.everywhere(b)
	return nodes
}

// Embeddings are the hidden layer of the perceptron, n×h; the graph has no part in it.
func (j *jointAPPNP) Embeddings(b *Batch) *graph.Dense {
	b.check(j.Nodes())
	return j.hidden(j.project.Apply(b.X))
}
