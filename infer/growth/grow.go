package growth

import (
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/nnls"
)

// Grower gives arrivals rows of M of their own, so that later arrivals can attach to them (docs/algorithm.md, section
// 5, last part): the row combines the synthetic nodes' messages into the arrival's, by the solver that made the rows of
// T. Models that share one M have their messages side by side, whichever model serves. A Grower is never changed by a
// batch and is safe for concurrent use.
type Grower struct {
	models []Model
	solver *nnls.Solver
	edges  []float32 // weights for which tables are made
}

// Model is one of the models that M was solved for.
type Model struct {
	Frozen   infer.Growable
	Messages Messages
}

// NewGrower keeps the dictionary t' (N'×p), the models' messages of the synthetic nodes that M was solved against,
// for rows of at most the given number of entries, and computes its Gram matrix. slots are those of the models' tables.
func NewGrower(dictionary *graph.Dense, entries int, models []Model, slots graph.Slots) *Grower {
	return &Grower{models: models, solver: nnls.NewSolver(dictionary, entries), edges: slots.Made()}
}

// Solution are rows of M that were solved for arrivals.
type Solution struct {
	Rows *graph.CSR // n×N', columns ascending, all entries positive; a row without entries is a node without weights
	// n: the share of the squared messages that a row leaves out: 0 none, 1 all, NaN where they are no numbers
	Left []float32
}

// Row is the row of arrival i, as a lookup gives it; not known where its messages are no numbers. It shares memory
// with the others.
func (g *Solution) Row(i int) attach.Row {
	if math.IsNaN(float64(g.Left[i])) {
		return attach.Row{}
	}
	cols, vals := g.Rows.Row(i)
	if len(cols) == 0 {
		return attach.Row{Known: true, Arrived: true}
	}
	return attach.Row{Known: true, Arrived: true, Cols: cols, Vals: vals}
}

// ArrivalRow is an arrival's id with the row that it was given.
type ArrivalRow struct {
	ID  string
	Row attach.Row
}

// Grow solves rows for the arrivals of a batch. In a node batch a row depends on its own arrival alone, bit for bit,
// in a graph batch on the arrival's connected component, as predictions do.
func (g *Grower) Grow(b *attach.Batch) *Solution {
	apart := *b // rows are solved while predictions are published, which are in the batch's memory
	apart.Memory = nil
	blocks := make([]*graph.Dense, len(g.models))
	for k := range g.models {
		m := &g.models[k]
		blocks[k] = m.Messages.Of(infer.ArrivedTables(m.Frozen, &apart, g.edges))
	}
	if len(blocks) == 0 {
		panic(fmt.Sprintf("infer: rows for %d arrivals without a model", b.Len()))
	}
	grown := &Solution{}
	grown.Rows, grown.Left = g.solver.Solve(graph.Beside(blocks...))
	return grown
}
