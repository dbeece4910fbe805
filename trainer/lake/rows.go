package lake

import (
	"errors"
	"fmt"
	"iter"

	"rivulet/artifact"
	"rivulet/dataset/columnar"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/growth"
	"rivulet/infer/nnls"
)

// Rows solves rows of M of any nodes, by their rows of the models' tables (docs/algorithm.md, section 5, step 3). It
// has no state.
type Rows struct {
	models   []*Parts
	messages []growth.Messages
	solver   *nnls.Solver
}

// Columns of a table of rows of M.
const (
	idColumn       = "id"
	clustersColumn = "clusters"
	weightsColumn  = "weights"
)

// NewRows returns a solver of rows against the dictionary of a draft.
func NewRows(d Draft) (*Rows, error) {
	w, err := d.Weights()
	if err != nil {
		return nil, err
	}
	c, err := d.Condensed()
	if err != nil {
		return nil, err
	}
	r := &Rows{messages: c.Messages, solver: nnls.NewSolver(c.Clusters, c.Entries)}
	for k := range w.Models {
		m, err := w.Models[k].Model()
		if err != nil {
			return nil, err
		}
		r.models = append(r.models, NewParts(m.Name(), m.Recurrence()))
	}
	return r, nil
}

// Run reads tables of nodes and writes their rows of M.
func (r *Rows) Run(from, to string) error {
	var id string
	var ids []string
	fields, width := []field{{idColumn, false, text(&id)}}, 0
	for _, p := range r.models {
		fields = append(fields, p.fields()...)
		for _, t := range p.tables {
			width += t.Cols
		}
	}
	size := max(1, batchNumbers/width)
	columns := []columnar.Column{{Name: idColumn, Type: columnar.Text}, {Name: clustersColumn, Type: columnar.Integers},
		{Name: weightsColumn, Type: columnar.Numbers}}
	return write(to, columns, func(add func([]table.Cell) error) error {
		if err := eachRow(from, fields, func() error {
			if id == "" {
				return fmt.Errorf("column %s: it is empty", idColumn)
			}
			if ids = append(ids, id); len(ids) < size {
				return nil
			}
			defer func() { ids = ids[:0] }()
			return r.flush(ids, add)
		}); err != nil {
			return err
		}
		return r.flush(ids, add)
	})
}

// flush solves the rows of the nodes that were read, and writes them.
func (r *Rows) flush(ids []string, add func([]table.Cell) error) error {
	if len(ids) == 0 {
		return nil
	}
	var targets []*graph.Dense
	for k, p := range r.models {
		targets = append(targets, r.messages[k].Of(p.of(p.tables)))
	}
	rows := r.solver.Rows(graph.Beside(targets...))
	for _, p := range r.models {
		p.clear()
	}
	for k, id := range ids {
		cols, vals := rows.Row(k)
		clusters, weights := make([]float64, len(cols)), make([]float64, len(cols))
		for e, c := range cols {
			clusters[e], weights[e] = float64(c), float64(vals[e])
		}
		if err := add([]table.Cell{{Kind: table.Text, Text: id}, {Kind: table.List, List: clusters},
			{Kind: table.List, List: weights}}); err != nil {
			return err
		}
	}
	return nil
}

// mappingRow takes a row of M.
type mappingRow struct {
	clusters, weights []float64
	nodes             int // N'
}

func (m *mappingRow) fields() []field {
	return []field{{clustersColumn, false, list(&m.clusters)}, {weightsColumn, false, list(&m.weights)}}
}

// add adds the row to a matrix.
func (m *mappingRow) add(to *graph.CSR) error {
	if len(m.clusters) != len(m.weights) {
		return fmt.Errorf("%d clusters and %d weights", len(m.clusters), len(m.weights))
	}
	last := -1
	for k, at := range m.clusters {
		c := int(at)
		if float64(c) != at || c <= last || c >= m.nodes {
			return fmt.Errorf("clusters[%d] is %v, want integers below %d that ascend", k, at, m.nodes)
		}
		last = c
		to.ColIdx, to.Val = append(to.ColIdx, int32(c)), append(to.Val, float32(m.weights[k]))
	}
	to.Rows++
	to.RowPtr = append(to.RowPtr, len(to.ColIdx))
	return nil
}

// errEnough ends a reading whose rows nobody wants any more.
var errEnough = errors.New("enough rows")

// pieceRows bounds the rows of M that are in memory at a time.
const pieceRows = 1 << 16

// Mapping gives all rows of M in files of [Rows], some at a time.
func Mapping(files []string, nodes int) iter.Seq2[*artifact.Mapping, error] {
	return func(yield func(*artifact.Mapping, error) bool) {
		next := func() *artifact.Mapping {
			return &artifact.Mapping{Rows: &graph.CSR{Cols: nodes, RowPtr: []int{0}}}
		}
		piece, m, id := next(), mappingRow{nodes: nodes}, ""
		fields := append(m.fields(), field{idColumn, false, text(&id)})
		for _, file := range files {
			enough := false
			err := eachRow(file, fields, func() error {
				piece.IDs = append(piece.IDs, id)
				if err := m.add(piece.Rows); err != nil || len(piece.IDs) < pieceRows {
					return err
				}
				full := piece
				if piece = next(); !yield(full, nil) {
					enough = true
					return errEnough
				}
				return nil
			})
			if enough {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if len(piece.IDs) > 0 {
			yield(piece, nil)
		}
	}
}
