package parquet

import (
	"io"
	"iter"

	"rivulet/dataset"
)

type nodeRow struct {
	ID       string    `parquet:"id"`
	Label    *string   `parquet:"label,optional"`
	Split    string    `parquet:"split,dict"`
	Features []float32 `parquet:"features,list"`
}

// Bounds of a row group, which the library keeps in memory: its rows, and the numbers in their lists.
const (
	rowsOfGroup   = 50_000
	valuesOfGroup = 8 << 20
)

// Save writes the data set as nodes.parquet and edges.parquet, which [Format] reads, with the columns of
// [dataset.Dataset.SaveCSV].
func Save(d *dataset.Dataset, dir string) error {
	return d.SaveTables(dir, ".parquet", func(w io.Writer) error { return WriteNodes(w, sound(d.NodeRows())) },
		func(w io.Writer) error {
			return WriteRows(w, func(yield func(Ends, error) bool) {
				for source, target := range d.EdgeRows() {
					if !yield(Ends{source, target}, nil) {
						return
					}
				}
			})
		})
}

// sound gives rows that have no errors.
func sound[T any](rows iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}
