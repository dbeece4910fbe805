package growth

import (
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/nnls"
)

// Grower gives arrivals rows of M of their own, so that later arrivals can attach to them (docs/algorithm.md,
// section 5, last part): the row that makes an arrival's messages out of those of the synthetic nodes, by the solver
// that gave the nodes of T theirs. Models that share one M have their messages side by side, whichever of them is
// served. A Grower is never changed by a batch and is safe for concurrent use.
type Grower struct {
	models []Model
	solver *nnls.Solver
}

// Model is one of the models that M was solved for.
type Model struct {
	Frozen   infer.Growable
	Messages Messages
}

// NewGrower keeps the dictionary t' (N'×p), the models' messages of the synthetic nodes that M was solved against,
// for rows of at most the given number of entries, and computes its Gram matrix.
func NewGrower(dictionary *graph.Dense, entries int, models []Model) *Grower {
	return &Grower{models: models, solver: nnls.NewSolver(dictionary, entries)}
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

// ArrivalRow is an arrival that was given a row: the row, its record and its attachment.
type ArrivalRow struct {
	ID  string
	Row attach.Row
	// Record tells the record that the arrival came with from every other, and Attached are the places in its list of
	// edges, in ascending order, whose neighbours were arrivals with rows: whoever predicts the same record again
	// attaches it to these and no others, whatever has arrived since, and gets the same bits.
	Record   uint64
	Attached []int32
	// AsOf is the epoch in which the store of rows was when the id was looked up there and had no row. It is not stored.
	AsOf int64
}

// Note is what an arrival was attached to, beside nodes of T, when its record was first predicted. Arrivals
// get rows and lose them; whoever predicts the record again attaches it to the rows of the note and no
// others, and gets the same bits.
type Note struct {
	// Place names who read the record and from which partition, Offset where it stands there. Record tells it from
	// every other.
	Place  string
	Offset int64
	Record uint64
	// Generation is that of the consumer group in which the record was read. Confirmed says that the group's
	// coordinator has said that it still is the last one.
	Generation int32
	Confirmed  bool
	// Attached are the places in its list of edges, in ascending order, whose neighbours were arrivals with rows, and
	// Rows are these rows.
	Attached []int32
	Rows     []attach.Row
	// Earlier says that the note is of somebody who predicted the record before, Lost that none could be written or
	// read, Overtaken that somebody in a later generation has written notes of the place, and none was written.
	Earlier, Lost, Overtaken bool
}

// Grow solves rows for the arrivals of a batch. In a node batch a row depends on its own arrival alone, bit for bit,
// in a graph batch on the arrival's connected component, as predictions do.
func (g *Grower) Grow(b *attach.Batch) *Solution {
	apart := *b // rows are solved while predictions are published, which are in the batch's memory
	apart.Memory = nil
	blocks := make([]*graph.Dense, len(g.models))
	for k := range g.models {
		m := &g.models[k]
		blocks[k] = m.Messages.Of(m.Frozen.ArrivedTables(&apart))
	}
	if len(blocks) == 0 {
		panic(fmt.Sprintf("infer: rows for %d arrivals without a model", b.Len()))
	}
	grown := &Solution{}
	grown.Rows, grown.Left = g.solver.Solve(graph.Beside(blocks...))
	return grown
}
