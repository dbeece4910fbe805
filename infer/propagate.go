package infer

import (
	"fmt"

	"rivulet/graph"
)

// PropagationSteps is the number of steps of label and error propagation (docs/algorithm.md, section 6).
const PropagationSteps = 10

// Propagation is label propagation (LP) or error propagation (EP) on a graph: it gives F of the arrivals, n×C.
// Only joint EP reads the arrivals' features: they change the logits of the graph's nodes, whose errors it spreads.
type Propagation interface {
	Nodes() int
	Propagate(b *Batch) *graph.Dense
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
		Softmax(row, logits.Row(j), 1)
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
// with F^{t+1} = α Â F^t + (1−α) F0 on the graph alone.
func PropagationTables(adj *graph.CSR, f0 *graph.Dense, alpha float32) *Tables {
	checkGraph(adj, f0.Rows, "seeds")
	return restartTables(adj, f0, alpha, PropagationSteps)
}

// restartTables are the tables of F ← keep·Â F + (1−keep) F0, one a step: LP, EP and APPNP.
func restartTables(adj *graph.CSR, f0 *graph.Dense, keep float32, steps int) *Tables {
	degrees := adj.RowSums()
	inv, met := graph.InvSqrt(degrees, 1), graph.InvSqrt(degrees, 2) // D^-½ and (D+1)^-½
	t := &Tables{}
	f, fMet := f0.Clone(), f0.Clone()
	for range steps {
		t.U = append(t.U, scaled(met, fMet))
		own := scaled(inv, f)
		sum := graph.Mul(adj, own)
		for j := range adj.Rows {
			s, o, fj, fm, seed := sum.Row(j), own.Row(j), f.Row(j), fMet.Row(j), f0.Row(j)
			for k := range s {
				fm[k] = keep*met[j]*(s[k]+met[j]*fm[k]) + (1-keep)*seed[k]
				fj[k] = keep*inv[j]*(s[k]+o[k]) + (1-keep)*seed[k]
			}
		}
	}
	return t
}

// FrozenPropagation deploys propagation on tables of T or S (section 6): f⁰ = 0,
//
//	f^{t+1} = α(q r·table_t + q² f^t + q ã(q f^t))
//
// normalise brings the rows of the result to sum 1, as label propagation does; rows of zeros stay zero.
func FrozenPropagation(t *Tables, alpha float32, normalise bool) Propagation {
	if t.C != nil || len(t.U) == 0 {
		panic(fmt.Sprintf("infer: propagation on %s, wants one table a step and no c", t.shapes()))
	}
	for _, u := range t.U {
		if u.Rows != t.Nodes() || u.Cols != t.U[0].Cols {
			panic(fmt.Sprintf("infer: propagation on %s, wants tables of one shape", t.shapes()))
		}
	}
	return &frozenPropagation{tables: graph.Beside(t.U...), steps: len(t.U), alpha: alpha, normalise: normalise}
}

type frozenPropagation struct {
	tables    *graph.Dense // m×(steps·C)
	steps     int
	alpha     float32
	normalise bool
}

func (p *frozenPropagation) Nodes() int { return p.tables.Rows }

func (p *frozenPropagation) Propagate(b *Batch) *graph.Dense {
	b.check(p.Nodes())
	read := b.read(p.tables)
	q := b.invSqrtDegrees(1)
	classes := p.tables.Cols / p.steps
	f, next := b.dense(b.Len(), classes), b.dense(b.Len(), classes)
	for t := range p.steps {
		b.spread(next, q, f)
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
func JointLabels(adj *graph.CSR, labels []int32, classes int, alpha float32) Propagation {
	checkGraph(adj, len(labels), "labels")
	f0 := LabelSeeds(labels, classes)
	return &jointPropagation{host: newHost(adj, normalised), alpha: alpha, normalise: true, seeds: func(*Batch) *graph.Dense { return f0 }}
}

// NodeLogits is a joint deployment that also gives the logits of the graph's own nodes with the batch in the graph.
type NodeLogits interface {
	Deployment
	GraphLogits(b *Batch) *graph.Dense
}

// JointErrors deploys error propagation on the graph with the batch in it; the errors are those of model in that
// graph.
func JointErrors(adj *graph.CSR, labels []int32, model NodeLogits, alpha float32) Propagation {
	checkGraph(adj, len(labels), "labels")
	return &jointPropagation{host: newHost(adj, normalised), alpha: alpha, seeds: func(b *Batch) *graph.Dense {
		return ErrorSeeds(labels, model.GraphLogits(b))
	}}
}

type jointPropagation struct {
	host      *host
	alpha     float32
	normalise bool
	seeds     func(b *Batch) *graph.Dense
}

func (p *jointPropagation) Nodes() int { return p.host.adj.Rows }

func (p *jointPropagation) Propagate(b *Batch) *graph.Dense {
	b.check(p.Nodes())
	_, f := p.host.join(b).restart(p.seeds(b), nil, p.alpha, PropagationSteps)
	if p.normalise {
		normaliseRows(f)
	}
	return f
}
