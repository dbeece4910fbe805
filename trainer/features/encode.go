package features

import (
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/schema"
)

// Encode returns a data set with X made of its columns, and the schema that made it: the one to keep, or where that is
// nil one that is fitted on the original nodes. A data set without columns is returned as it is, with the schema to
// keep, the schema that made its features, or nil. The schema's width must be X's. The fingerprint of a table is over
// its columns: take it before.
func Encode(d *dataset.Dataset, keep *schema.Schema, o schema.FitOptions) (*dataset.Dataset, *schema.Schema, error) {
	s := keep
	if d.Columns == nil {
		if s == nil {
			s = d.Schema
		}
		if s != nil && d.X.Cols() != s.Width() {
			return nil, nil, fmt.Errorf("features have %d positions, the schema to keep has %d", d.X.Cols(), s.Width())
		}
		return d, s, nil
	}
	if s == nil {
		original := slices.Concat(d.Train, d.Unlabelled)
		slices.Sort(original)
		var err error
		o.Dropped, o.Types = d.Dropped, d.NodeTypes
		if s, err = schema.Fit(d.Columns, original, o); err != nil {
			return nil, nil, fmt.Errorf("fitting the schema: %w", err)
		}
	}
	rows, err := s.EncodeColumns(d.Columns)
	if err != nil {
		return nil, nil, fmt.Errorf("making rows of the columns: %w", err)
	}
	out := *d
	out.Columns, out.BagOfWords = nil, false
	out.Schema, out.Values = s, d.Columns
	out.X = graph.Features{}
	if rows.Dense != nil {
		out.X.Dense = &graph.Dense{Rows: rows.N, Cols: rows.Width, Data: rows.Dense}
	} else {
		out.X.Sparse = &graph.CSR{Rows: rows.N, Cols: rows.Width, RowPtr: rows.RowPtr, ColIdx: rows.ColIdx, Val: rows.Val}
	}
	return &out, s, nil
}

// Named returns the named values of a node of columns by its id; nil if there are no columns.
func Named(ids []string, columns []schema.Column) func(id string) []schema.Field {
	if columns == nil {
		return nil
	}
	return func(id string) []schema.Field {
		i := slices.Index(ids, id)
		out := make([]schema.Field, len(columns))
		for k := range columns {
			out[k] = schema.Field{Name: columns[k].Name, Value: columns[k].At(i)}
		}
		return out
	}
}
