package infer

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
)

// Propagation is label propagation (LP) or error propagation (EP) on a graph: F of the arrivals, n×C. Only joint EP
// reads the arrivals' features: they change the logits of the nodes, whose errors it spreads.
type Propagation interface {
	Nodes() int
	Propagate(b *attach.Batch) *graph.Dense
}

// Sweeper is a propagation before its α is chosen.
type Sweeper interface {
	// Sweep returns F of each batch at each α: for every α a list, for every batch n×C.
	Sweep(batches []*attach.Batch, alphas []float32) [][]*graph.Dense
}

// JointPropagation is a propagation on the graph with the batch in it: at its own α, and at any.
type JointPropagation interface {
	Propagation
	Sweeper
}

// LabelSeeds are F0 of label propagation: one-hot rows of the labelled nodes, 0 where the label is negative.
func LabelSeeds(labels []int32, classes int) *graph.Dense {
	f0 := graph.NewDense(len(labels), classes)
	for j, y := range labels {
		if y >= 0 {
			f0.Row(j)[y] = 1
		}
	}
	return f0
}

// ErrorSeeds are F0 of error propagation: one-hot − softmax(logits) on the labelled nodes, 0 where the label is
// negative.
func ErrorSeeds(labels []int32, logits *graph.Dense) *graph.Dense {
	if len(labels) != logits.Rows {
		panic(fmt.Sprintf("infer: %d labels for logits of %s", len(labels), shape(logits)))
	}
	f0 := graph.NewDense(len(labels), logits.Cols)
	for j, y := range labels {
		if y < 0 {
			continue
		}
		row := f0.Row(j)
		graph.Softmax(row, logits.Row(j), 1)
		for k := range row {
			row[k] = -row[k]
		}
		row[y]++
	}
	return f0
}

// PropagationTables are the tables of F0 on T, each node as if it met one neighbour more:
//
//	F̃^{t+1}_j = α n_j(Σ_k B_jk F^t_k/√D_k + n_j F̃^t_j) + (1−α)F0_j,  F̃⁰ = F0,  table t = n_j F̃^t_j,  n_j = (D_j+1)^-½
//
// with F^{t+1} = α Â F^t + (1−α) F0 on the graph alone; edges are as of [Network.Tables]. With α = 1 they are the hops
// of F0, from which [Tables.Restarted] makes the tables of any α.
func PropagationTables(adj *graph.CSR, f0 *graph.Dense, alpha float32, edges ...float32) *Tables {
	return propagationRecurrence(adj, f0, alpha).tablesAt(adj, f0, edges)
}

// EachPropagationTable makes the tables of [PropagationTables] one after the other, for edges of one weight. visit
// takes each, N×C.
func EachPropagationTable(adj *graph.CSR, f0 *graph.Dense, alpha, edge float32, visit func(u *graph.Dense)) {
	r := propagationRecurrence(adj, f0, alpha)
	r.edge = float64(edge)
	r.eachTable(adj, f0, visit)
}

func propagationRecurrence(adj *graph.CSR, f0 *graph.Dense, alpha float32) *Recurrence {
	checkGraph(adj, f0.Rows, "seeds")
	return recurrence(&restart{width: f0.Cols, keep: alpha, hops: propagation.Steps}, architecture.Normalised)
}

// Restarted are the tables of a propagation for one α, made of its hops (α = 1) on T or S. With V^s = Â^s F0, F^t =
// (1−α) Σ_{s<t} α^s V^s + α^t V^t, so that tables hop_s give
//
//	table t = (1−α) Σ_{s<t} α^s hop_s + α^t hop_t
//
// which differs from [PropagationTables] by rounding. An operation that is linear in the tables may be applied to the
// hops.
func (t *Tables) Restarted(alpha float32) *Tables { return &Tables{U: restarted(t.U, alpha)} }

// restarted returns (1−α) Σ_{s<t} α^s hops_s + α^t hops_t for every t.
func restarted(hops []*graph.Dense, alpha float32) []*graph.Dense {
	out := make([]*graph.Dense, len(hops))
	before, power := graph.NewDense(hops[0].Rows, hops[0].Cols), float32(1) // Σ_{s<t} α^s hops_s and α^t
	for t, hop := range hops {
		out[t] = before.Clone()
		for k := range out[t].Data {
			out[t].Data[k] = (1-alpha)*out[t].Data[k] + power*hop.Data[k]
		}
		graph.Axpy(before.Data, power, hop.Data)
		power *= alpha
	}
	return out
}

// FrozenPropagation deploys propagation on tables of T or S (section 6): f⁰ = 0,
//
//	f^{t+1} = α(q r·table_t + q² f^t + q ã(q f^t))
//
// normalise brings the rows of the result to sum 1, as label propagation does; rows of zeros stay zero.
func FrozenPropagation(t *Tables, alpha float32, normalise bool) Propagation {
	other := func(u *graph.Dense) bool { return u.Rows != t.Nodes() || u.Cols != t.U[0].Cols }
	if t.C != nil || len(t.U) == 0 || slices.ContainsFunc(t.U, other) {
		panic(fmt.Sprintf("infer: propagation on %s, wants one table a step, all of one shape, and no c", t.Shapes()))
	}
	return &frozenPropagation{tables: graph.Beside(t.U...), steps: len(t.U), alpha: alpha, normalise: normalise}
}

// Frozen deploys the calibration's propagation on its tables of T or S.
func (c Calibration) Frozen(t *Tables) Propagation {
	return FrozenPropagation(t, c.Alpha, c.Kind == propagation.Labels)
}

// FrozenSweep is [Calibration.Frozen] at any α, on the hops of T or S (α = 1).
func FrozenSweep(kind string, hops *Tables) Sweeper { return &frozenSweep{kind, hops} }

type frozenSweep struct {
	kind string
	hops *Tables
}

func (s *frozenSweep) Sweep(batches []*attach.Batch, alphas []float32) [][]*graph.Dense {
	out := make([][]*graph.Dense, len(alphas))
	for k, alpha := range alphas {
		p := Calibration{Kind: s.kind, Alpha: alpha}.Frozen(s.hops.Restarted(alpha))
		for _, b := range batches {
			out[k] = append(out[k], p.Propagate(b))
		}
	}
	return out
}

type frozenPropagation struct {
	tables    *graph.Dense // m×(steps·C)
	steps     int
	alpha     float32
	normalise bool
}

func (p *frozenPropagation) Nodes() int { return p.tables.Rows }

func (p *frozenPropagation) Propagate(b *attach.Batch) *graph.Dense {
	b.Check(p.Nodes())
	read := b.Read(p.tables)
	q := b.InvSqrtDegrees(1)
	classes := p.tables.Cols / p.steps
	f, next := b.Dense(b.Len(), classes), b.Dense(b.Len(), classes)
	for t := range p.steps {
		b.Spread(next, q, f)
		for i := range next.Rows {
			out, got := next.Row(i), read.Row(i)[t*classes:]
			for k := range out {
				out[k] = p.alpha * q[i] * (got[k] + out[k])
			}
		}
		f, next = next, f
	}
	if p.normalise {
		normaliseRows(f)
	}
	return f
}

// JointLabels deploys label propagation on the graph with the batch in it.
func JointLabels(adj *graph.CSR, labels []int32, classes int, alpha float32) JointPropagation {
	checkGraph(adj, len(labels), "labels")
	f0 := LabelSeeds(labels, classes)
	return &jointPropagation{host: newHost(adj, architecture.Normalised), alpha: alpha, normalise: true,
		seeds: func(*attach.Batch) *graph.Dense { return f0 }}
}

// NodeLogits is a joint deployment that also gives the logits of the graph's own nodes with the batch in the graph.
type NodeLogits interface {
	Deployment
	GraphLogits(b *attach.Batch) *graph.Dense
}

// JointErrors deploys error propagation on the graph with the batch in it; the errors are the model's in that graph.
func JointErrors(adj *graph.CSR, labels []int32, model NodeLogits, alpha float32) JointPropagation {
	checkGraph(adj, len(labels), "labels")
	return &jointPropagation{host: newHost(adj, architecture.Normalised), alpha: alpha,
		seeds: func(b *attach.Batch) *graph.Dense { return ErrorSeeds(labels, model.GraphLogits(b)) }}
}

type jointPropagation struct {
	host      *host
	alpha     float32
	normalise bool
	seeds     func(b *attach.Batch) *graph.Dense
}

func (p *jointPropagation) Nodes() int { return p.host.adj.Rows }

// Sweep returns Propagate's result for each α, to rounding, for the price of one: it makes F of the arrivals from the
// hops V^s = Â^s F0 on the graph with the batch in it, as in [Tables.Restarted].
func (p *jointPropagation) Sweep(batches []*attach.Batch, alphas []float32) [][]*graph.Dense {
	out := make([][]*graph.Dense, len(alphas))
	for _, b := range batches {
		hops := p.hops(b)
		for k, alpha := range alphas {
			all := restarted(hops, alpha)
			f := all[len(all)-1]
			if p.normalise {
				normaliseRows(f)
			}
			out[k] = append(out[k], f)
		}
	}
	return out
}

// hops returns the arrivals' rows of V^0 … V^steps.
func (p *jointPropagation) hops(b *attach.Batch) []*graph.Dense {
	b.Check(p.Nodes())
	on, g := p.host.join(b), p.seeds(b)
	out := []*graph.Dense{graph.NewDense(b.Len(), g.Cols)}
	for t := range propagation.Steps {
		out = append(out, on.arrivals(g.Cols, g, false, out[t]))
		g = on.nodes(false, g.Cols, g, out[t])
	}
	return out
}

func (p *jointPropagation) Propagate(b *attach.Batch) *graph.Dense {
	b.Check(p.Nodes())
	_, f := p.host.join(b).restart(p.seeds(b), nil, p.alpha, propagation.Steps)
	if p.normalise {
		normaliseRows(f)
	}
	return f
}
