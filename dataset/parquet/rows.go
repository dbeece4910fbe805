package parquet

import (
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"

	"rivulet/dataset/table"
)

// WriteRows writes rows of a struct, whose fields have tags of parquet-go, as one file. It ends with the first error
// of a row.
func WriteRows[T any](w io.Writer, rows iter.Seq2[T, error]) error {
	return write(w, rows, func(*T) int { return 0 })
}

// write is WriteRows for rows with lists, whose lengths bound a row group, too.
func write[T any](w io.Writer, rows iter.Seq2[T, error], length func(*T) int) error {
	out := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsOfGroup))
	values := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		if _, err := out.Write([]T{row}); err != nil {
			return err
		}
		if values += length(&row); values < valuesOfGroup {
			continue
		}
		if err := out.Flush(); err != nil {
			return err
		}
		values = 0
	}
	return out.Close()
}

// WriteNodes writes rows of nodes as one file, as [Save] does. A row's features may change after it was taken.
func WriteNodes(w io.Writer, rows iter.Seq2[table.Node, error]) error {
	return write(w, func(yield func(nodeRow, error) bool) {
		for n, err := range rows {
			row := nodeRow{ID: n.ID, Split: n.Split, Features: n.Features}
			if n.Label != "" {
				row.Label = &n.Label
			}
			if !yield(row, err) {
				return
			}
		}
	}, func(n *nodeRow) int { return len(n.Features) })
}

// Ends are the ids at the ends of an edge.
type Ends struct {
	Source string `parquet:"source"`
	Target string `parquet:"target"`
}
