package lake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"rivulet/dataset/columnar"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/internal/durable"
)

// standard is the name of a table that is read from standard input or written to standard output.
const standard = "-"

// field is a column that is read, and what becomes of its value in each row.
type field struct {
	name string
	// optional says that the table need not have the column; take is then not called.
	optional bool
	take     func(c *table.Cell) error
}

// eachRow reads the fields of each row of a table, and calls row behind them.
func eachRow(path string, fields []field, row func() error) error {
	file, size, err := open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	err = columnar.Open(file, path, size, func(t table.File) error {
		var which []int
		var there []*field
		for k := range fields {
			at := slices.Index(t.Columns(), fields[k].name)
			if at >= 0 {
				which, there = append(which, at), append(there, &fields[k])
			} else if !fields[k].optional {
				return fmt.Errorf("it has no column %s", fields[k].name)
			}
		}
		return t.Each(which, func(cells []table.Cell, _ table.Place) error {
			for k, f := range there {
				if err := f.take(&cells[k]); err != nil {
					return fmt.Errorf("column %s: %w", f.name, err)
				}
			}
			return row()
		})
	})
	if err != nil {
		return fmt.Errorf("table %s: %w", path, err)
	}
	return nil
}

// readerAtCloser is an open file, or what has come by standard input.
type readerAtCloser interface {
	io.ReaderAt
	io.Closer
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func open(path string) (readerAtCloser, int64, error) {
	if path == standard {
		all, err := io.ReadAll(os.Stdin)
		return memory{bytes.NewReader(all)}, int64(len(all)), err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// write writes a table, which is whole or missing.
func write(path string, columns []columnar.Column, rows func(add func([]table.Cell) error) error) error {
	fill := func(w io.Writer) error {
		out, err := columnar.NewWriter(w, columns)
		if err != nil {
			return err
		}
		if err := rows(out.Write); err != nil {
			return err
		}
		return out.Close()
	}
	if path == standard {
		return fill(os.Stdout)
	}
	return writeFile(path, fill)
}

// writeFile writes a file, which is whole or missing.
func writeFile(path string, fill func(io.Writer) error) error {
	return durable.Disk{}.WriteFile(filepath.Dir(path), filepath.Base(path), fill)
}

// integer takes a number without a fraction.
func integer(to *int64) func(*table.Cell) error {
	return func(c *table.Cell) error {
		if c.Kind != table.Int {
			return fmt.Errorf("it is %s, want an integer", shown(c))
		}
		*to = c.Int
		return nil
	}
}

// text takes a text; null is an empty one.
func text(to *string) func(*table.Cell) error {
	return func(c *table.Cell) error {
		switch *to = ""; c.Kind {
		case table.Null:
		case table.Text:
			*to = c.Text
		default:
			return fmt.Errorf("it is %s, want a text", shown(c))
		}
		return nil
	}
}

// number takes a finite number; null is 0.
func number(to *float32) func(*table.Cell) error {
	return func(c *table.Cell) error {
		if *to = 0; c.Kind == table.Null {
			return nil
		}
		v, err := c.Number()
		if err == nil && (math.IsNaN(v) || math.Abs(v) > math.MaxFloat32) {
			err = fmt.Errorf("it is %v, want a finite number", v)
		}
		*to = float32(v)
		return err
	}
}

// list takes a list of numbers; null is an empty one. It is valid until the next row.
func list(to *[]float64) func(*table.Cell) error {
	return func(c *table.Cell) error {
		switch *to = nil; c.Kind {
		case table.Null:
		case table.List:
			*to = c.List
		default:
			return fmt.Errorf("it is %s, want a list of numbers", shown(c))
		}
		return nil
	}
}

// block takes bytes of as many float32 as a row of a matrix has.
func block(to func() []float32) func(*table.Cell) error {
	return func(c *table.Cell) error {
		row := to()
		if c.Kind != table.Text || len(c.Text) != 4*len(row) {
			return fmt.Errorf("it has %d bytes, want %d numbers of 4", len(c.Text), len(row))
		}
		for k := range row {
			row[k] = math.Float32frombits(binary.LittleEndian.Uint32([]byte(c.Text[4*k : 4*k+4])))
		}
		return nil
	}
}

// blockCell is the cell of a row of a matrix.
func blockCell(row []float32) table.Cell {
	b := make([]byte, 0, 4*len(row))
	for _, v := range row {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return table.Cell{Kind: table.Text, Text: string(b)}
}

func shown(c *table.Cell) string {
	if c.Kind == table.Null {
		return "null"
	}
	return c.String()
}

// features takes the features of each row, in either form: a list x of all numbers, or a list indices of those that are
// not 0 beside a list values.
type features struct {
	width           int
	x               []float64
	indices, values []float64
	dense           bool
	rows            graph.Features
}

// fields are the columns of features.
func (f *features) fields() []field {
	return []field{
		{"x", true, func(c *table.Cell) error { f.dense = true; return list(&f.x)(c) }},
		{"indices", true, list(&f.indices)}, {"values", true, list(&f.values)},
	}
}

// add adds a row of features. who names the node in errors.
func (f *features) add(who func() string) error {
	if f.dense {
		if len(f.x) != f.width {
			return fmt.Errorf("%s has %d features in x, want %d", who(), len(f.x), f.width)
		}
		if f.rows.Dense == nil {
			f.rows.Dense = &graph.Dense{Cols: f.width}
		}
		f.rows.Dense.Rows++
		for k, v := range f.x {
			if err := f.append(&f.rows.Dense.Data, v); err != nil {
				return fmt.Errorf("%s: feature %d: %w", who(), k, err)
			}
		}
		return nil
	}
	if len(f.indices) != len(f.values) {
		return fmt.Errorf("%s has %d indices and %d values", who(), len(f.indices), len(f.values))
	}
	if f.rows.Sparse == nil {
		f.rows.Sparse = &graph.CSR{Cols: f.width, RowPtr: []int{0}}
	}
	s, last := f.rows.Sparse, -1
	for k, at := range f.indices {
		i := int(at)
		if float64(i) != at || i <= last || i >= f.width {
			return fmt.Errorf("%s: indices[%d] is %v, want integers below %d that ascend", who(), k, at, f.width)
		}
		if err := f.append(&s.Val, f.values[k]); err != nil {
			return fmt.Errorf("%s: feature %d: %w", who(), i, err)
		}
		last, s.ColIdx = i, append(s.ColIdx, int32(i))
	}
	s.Rows++
	s.RowPtr = append(s.RowPtr, len(s.ColIdx))
	return nil
}

// append adds a number that a consumer takes, too.
func (f *features) append(to *[]float32, v float64) error {
	if err := preprocess.CheckMagnitude(v); err != nil {
		return fmt.Errorf("it is %w", err)
	}
	*to = append(*to, float32(v))
	return nil
}

// take returns the rows that were added, and begins anew.
func (f *features) take() graph.Features {
	out := f.rows
	f.rows = graph.Features{}
	return out
}
