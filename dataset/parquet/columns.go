package parquet

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"rivulet/dataset/table"
)

// ColumnType is the type of the values of a column of [ColumnWriter].
type ColumnType uint8

// The types of columns. A cell of Null, where the type is Text, is no value.
const (
	Integer ColumnType = iota // int64
	Number                    // float32
	Text                      // UTF-8
	Bytes
	Numbers  // a list of float32
	Integers // a list of int32
)

// Column is a column of a table whose columns are known when the program runs.
type Column struct {
	Name string
	Type ColumnType
}

func (c Column) node() parquet.Node {
	plain := func(n parquet.Node) parquet.Node { return parquet.Encoded(n, &parquet.Plain) }
	switch c.Type {
	case Integer:
		return plain(parquet.Leaf(parquet.Int64Type))
	case Number:
		return plain(parquet.Leaf(parquet.FloatType))
	case Text:
		return parquet.Optional(plain(parquet.String()))
	case Bytes:
		return plain(parquet.Leaf(parquet.ByteArrayType))
	case Numbers:
		return parquet.List(plain(parquet.Leaf(parquet.FloatType)))
	case Integers:
		return parquet.List(plain(parquet.Int(32)))
	}
	panic(fmt.Sprintf("parquet: a column of type %d", c.Type))
}

// path is where the values of the column lie in the schema.
func (c Column) path() []string {
	if c.Type == Numbers || c.Type == Integers {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}

// ColumnWriter writes a table with the columns that it is given. Any program that reads Parquet reads it.
type ColumnWriter struct {
	columns []Column
	order   []int // of the columns in the file
	out     *parquet.GenericWriter[any]
	row     parquet.Row
	bytes   int // of the row group
}

// groupBytes bounds a row group, which the library keeps in memory.
const groupBytes = 16 << 20

// NewColumnWriter returns a writer of a table with these columns.
func NewColumnWriter(w io.Writer, columns []Column) *ColumnWriter {
	group := parquet.Group{}
	for _, c := range columns {
		group[c.Name] = c.node()
	}
	schema := parquet.NewSchema("table", group)
	out := &ColumnWriter{columns: columns, order: make([]int, len(columns)),
		out: parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1))}
	for k, c := range columns {
		leaf, _ := schema.Lookup(c.path()...)
		out.order[leaf.ColumnIndex] = k
	}
	return out
}

// Write writes a row: a cell for each column, of its type.
func (w *ColumnWriter) Write(cells []table.Cell) error {
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
func (w *ColumnWriter) append(at int, of ColumnType, c *table.Cell) {
	add := func(v parquet.Value, repetition, definition int) {
		w.row = append(w.row, v.Level(repetition, definition, at))
	}
	const size = 8
	w.bytes += size
	switch of {
	case Integer:
		add(parquet.Int64Value(c.Int), 0, 0)
	case Number:
		add(parquet.FloatValue(float32(c.Float)), 0, 0)
	case Text:
		if w.bytes += len(c.Text); c.Kind == table.Null {
			add(parquet.NullValue(), 0, 0)
			return
		}
		add(parquet.ByteArrayValue([]byte(c.Text)), 0, 1)
	case Bytes:
		w.bytes += len(c.Text)
		add(parquet.ByteArrayValue([]byte(c.Text)), 0, 0)
	case Numbers, Integers:
		if w.bytes += size * len(c.List); len(c.List) == 0 {
			add(parquet.NullValue(), 0, 0)
		}
		for k, v := range c.List {
			value := parquet.FloatValue(float32(v))
			if of == Integers {
				value = parquet.Int32Value(int32(v))
			}
			add(value, min(k, 1), 1)
		}
	}
}

// Close writes what is left, and the end of the file.
func (w *ColumnWriter) Close() error { return w.out.Close() }

// Open opens a file from any program, for use alone.
func Open(file io.ReaderAt, name string, size int64, use func(table.File) error) error {
	return guarded(func() error {
		t, err := openTable(file, name, size)
		if err != nil {
			return err
		}
		return use(t)
	})
}
