package growth

import (
	"errors"
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
	edges  []float32 // weights for which tables are made, one a bin
}

// Model is one of the models that M was solved for.
type Model struct {
	Frozen   infer.Growable
	Messages Messages
}

// NewGrower keeps the dictionary t' (N'×p), the models' messages of the synthetic nodes that M was solved against,
// for rows of at most the given number of entries, and computes its Gram matrix. bins are those of the models' tables.
func NewGrower(dictionary *graph.Dense, entries int, models []Model, bins *graph.Bins) *Grower {
	return &Grower{models: models, solver: nnls.NewSolver(dictionary, entries), edges: bins.Weights()}
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
	// Record is a fingerprint of the arrival's record. Attached are the places in its list of edges, ascending, whose
	// neighbours were arrivals with rows: a consumer that predicts the same record again attaches it to these and no
	// others, whatever has arrived since, and gets the same bits.
	Record   uint64
	Attached []int32
	// Replace says that the arrival was predicted again, with more edges: the row replaces the one that its id has.
	Replace bool
	// AsOf is the epoch in which the store of rows was when the id was looked up there and had no row. It is not stored.
	AsOf int64
}

// Note holds the arrivals that a record's arrival was attached to when it was first predicted. Arrivals get rows and
// lose them; a consumer that predicts the record again attaches it to the rows of the note and no others, and gets the
// same bits.
type Note struct {
	// Place names the group and the partition, Offset the record's offset. Record is its fingerprint. Of an arrival that
	// is predicted again, Offset is that of the record that gave rise to it, and Edge that of its first new edge; else 0.
	Place        string
	Offset, Edge int64
	Record       uint64
	// Generation is the consumer group's generation that read the record. Confirmed says that the group's coordinator
	// still calls it the last one.
	Generation int32
	Confirmed  bool
	// Attached are the places in its list of edges, in ascending order, whose neighbours were arrivals with rows, and
	// Rows are these rows.
	Attached []int32
	Rows     []attach.Row
	// Earlier: another consumer predicted the record before, and this is its note. Lost: no note could be written or read.
	// Overtaken: a later generation has written notes of the place, and this one was not written.
	Earlier, Lost, Overtaken bool
}

// Forget asks to remove the row of an arrival.
type Forget struct {
	ID string
	// Except is the fingerprint of a record that came after the one that asks: if the row is its arrival's, it stays.
	// Later says that there is such a record.
	Except uint64
	Later  bool
}

// Fence lets the store refuse writes of a consumer whose partitions another one has taken over: a consumer that was
// stopped for a while must not write a row that was forgotten meanwhile, nor remove a later one.
type Fence struct {
	// Places name the group and the partitions of the records ([Note.Place]). None: nothing is refused.
	Places []string
	// Generation and Confirmed are as in a [Note].
	Generation int32
	Confirmed  bool
}

// ErrOvertaken says that a later generation has written to one of the places of a [Fence].
var ErrOvertaken = errors.New("a later generation of the group has written rows of arrivals")

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
