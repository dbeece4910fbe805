package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"rivulet/dataset/columnar"
	"rivulet/dataset/table"
)

// column is a column of a table.
type column columnar.Column

func (c column) node() parquet.Node {
	plain := func(n parquet.Node) parquet.Node { return parquet.Encoded(n, &parquet.Plain) }
	switch c.Type {
	case columnar.Integer:
		return plain(parquet.Leaf(parquet.Int64Type))
	case columnar.Number:
		return plain(parquet.Leaf(parquet.FloatType))
	case columnar.Text:
		return parquet.Optional(plain(parquet.String()))
	case columnar.Bytes:
		return plain(parquet.Leaf(parquet.ByteArrayType))
	case columnar.Numbers:
		return parquet.List(plain(parquet.Leaf(parquet.FloatType)))
	case columnar.Integers:
		return parquet.List(plain(parquet.Int(32)))
	}
	panic(fmt.Sprintf("parquet: a column of type %d", c.Type))
}

// path is where the values of the column lie in the schema.
func (c column) path() []string {
	if c.Type == columnar.Numbers || c.Type == columnar.Integers {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}

// columnWriter writes a table with the columns that it is given. Any program that reads Parquet reads it.
type columnWriter struct {
	columns []columnar.Column
	order   []int // of the columns in the file
	out     *parquet.GenericWriter[any]
	row     parquet.Row
	bytes   int // of the row group
}

// groupBytes bounds a row group, which the library keeps in memory.
const groupBytes = 16 << 20

// newColumnWriter returns a writer of a table with these columns.
func newColumnWriter(w io.Writer, columns []columnar.Column) *columnWriter {
	group := parquet.Group{}
	for _, c := range columns {
		group[c.Name] = column(c).node()
	}
	schema := parquet.NewSchema("table", group)
	out := &columnWriter{columns: columns, order: make([]int, len(columns)),
		out: parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1))}
	for k, c := range columns {
		leaf, _ := schema.Lookup(column(c).path()...)
		out.order[leaf.ColumnIndex] = k
	}
	return out
}

// Write writes a row: a cell for each column, of its type.
func (w *columnWriter) Write(cells []table.Cell) error {
	w.row = w.row[:0]
	for at, k := range w.order {
		w.append(at, w.columns[k].Type, &cells[k])
	}
	if _, err := w.out.WriteRows([]parquet.Row{w.row}); err != nil {
		return err
	}
	if w.bytes < groupBytes {
		return nil
	}
	w.bytes = 0
	return w.out.Flush()
}

// append adds the values of a cell to the row, in the column of a place in the file.
func (w *columnWriter) append(at int, of columnar.Type, c *table.Cell) {
	add := func(v parquet.Value, repetition, definition int) {
		w.row = append(w.row, v.Level(repetition, definition, at))
	}
	const size = 8
	w.bytes += size
	switch of {
	case columnar.Integer:
		add(parquet.Int64Value(c.Int), 0, 0)
	case columnar.Number:
		add(parquet.FloatValue(float32(c.Float)), 0, 0)
	case columnar.Text:
		if w.bytes += len(c.Text); c.Kind == table.Null {
			add(parquet.NullValue(), 0, 0)
			return
		}
		add(parquet.ByteArrayValue([]byte(c.Text)), 0, 1)
	case columnar.Bytes:
		w.bytes += len(c.Text)
		add(parquet.ByteArrayValue([]byte(c.Text)), 0, 0)
	case columnar.Numbers, columnar.Integers:
		if w.bytes += size * len(c.List); len(c.List) == 0 {
			add(parquet.NullValue(), 0, 0)
		}
		for k, v := range c.List {
			value := parquet.FloatValue(float32(v))
			if of == columnar.Integers {
				value = parquet.Int32Value(int32(v))
			}
			add(value, min(k, 1), 1)
		}
	}
}

// Close writes what is left, and the end of the file.
func (w *columnWriter) Close() error { return w.out.Close() }

// openAlone opens a file from any program, for use alone.
func openAlone(file io.ReaderAt, name string, size int64, use func(table.File) error) error {
	return guarded(func() error {
		t, err := openTable(file, name, size)
		if err != nil {
			return err
		}
		return use(t)
	})
}
