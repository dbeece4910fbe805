package parquet

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"rivulet/dataset"
)

type nodeRow struct {
	ID       string    `parquet:"id"`
	Label    *string   `parquet:"label,optional"`
	Split    string    `parquet:"split,dict"`
	Features []float32 `parquet:"features,list"`
}

type edgeRow struct {
	Source string `parquet:"source"`
	Target string `parquet:"target"`
}

// rowsOfGroup bounds the rows of a row group, which the library keeps in memory.
const rowsOfGroup = 50_000

// Save writes the data set as nodes.parquet and edges.parquet, which [Format] reads: the columns are those of
// [dataset.Dataset.SaveCSV].
func Save(d *dataset.Dataset, dir string) error {
	return d.SaveTables(dir, ".parquet", func(w io.Writer) error { return writeNodes(w, d) },
		func(w io.Writer) error { return writeEdges(w, d) })
}

func writeNodes(w io.Writer, d *dataset.Dataset) error {
	out := parquet.NewGenericWriter[nodeRow](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsOfGroup))
	for n := range d.NodeRows() {
		row := nodeRow{ID: n.ID, Split: n.Split, Features: n.Features}
		if n.Label != "" {
			row.Label = &n.Label
		}
		if _, err := out.Write([]nodeRow{row}); err != nil {
			return err
		}
	}
	return out.Close()
}

func writeEdges(w io.Writer, d *dataset.Dataset) error {
	out := parquet.NewGenericWriter[edgeRow](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsOfGroup))
	for source, target := range d.EdgeRows() {
		if _, err := out.Write([]edgeRow{{source, target}}); err != nil {
			return err
		}
	}
	return out.Close()
}
