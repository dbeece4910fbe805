package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"rivulet/dataset"
)

// maxList bounds the list of a row, whose length is declared nowhere: pages of a few bytes each could fill any
// memory.
const maxList = 1 << 20

// cursor reads one column chunk value by value. Bytes of a value are valid until the next value. Errors name the
// column.
type cursor struct {
	name    string
	most    int // definition level of a value that is not null
	decimal bool

	values parquet.ColumnChunkValueReader
	buf    [256]parquet.Value
	next   []parquet.Value // of buf
}

// isDecimal reports whether a column's integers stand for decimal fractions, dates or times.
func isDecimal(c *parquet.Column) bool {
	t := c.Type().LogicalType()
	if t == nil {
		return false
	}
	switch t.Value.(type) {
	case nil, *format.IntType, *format.StringType:
		return false
	}
	return c.Type().Kind() != parquet.ByteArray
}

func (c *cursor) close() { _ = c.values.Close() } // nothing was written

// peek returns the next value without consuming it; io.EOF after the last.
func (c *cursor) peek() (parquet.Value, error) {
	if len(c.next) == 0 {
		n, err := c.values.ReadValues(c.buf[:])
		if n == 0 && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("column %s: %w", c.name, err)
		}
		if n == 0 {
			return parquet.Value{}, err
		}
		c.next = c.buf[:n]
	}
	return c.next[0], nil
}

// value returns the next value, which begins a row.
func (c *cursor) value() (parquet.Value, error) {
	v, err := c.peek()
	switch {
	case errors.Is(err, io.EOF):
		return v, fmt.Errorf("column %s: fewer values than rows", c.name)
	case err != nil:
		return v, err
	}
	c.next = c.next[1:]
	if v.RepetitionLevel() != 0 {
		return v, fmt.Errorf("column %s: a value continues a list that no row began", c.name)
	}
	return v, nil
}

func (c *cursor) wrong(v parquet.Value, want string) error {
	if v.IsNull() {
		return fmt.Errorf("column %s: it is null, want %s", c.name, want)
	}
	return fmt.Errorf("column %s: it is of type %s, want %s", c.name, v.Kind(), want)
}

// text returns a string or an integer in decimal.
func (c *cursor) text() (string, error) {
	v, err := c.value()
	if err != nil {
		return "", err
	}
	return c.toText(v)
}

func (c *cursor) toText(v parquet.Value) (string, error) {
	if v.IsNull() || c.decimal {
		return "", c.wrong(v, "a string or an integer")
	}
	switch v.Kind() {
	case parquet.ByteArray:
		return string(v.ByteArray()), nil
	case parquet.Int32:
		return strconv.Itoa(int(v.Int32())), nil
	case parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10), nil
	}
	return "", c.wrong(v, "a string or an integer")
}

// label returns text that may be missing. Integers come as floats from libraries that write missing values only as
// NaN.
func (c *cursor) label() (string, error) {
	v, err := c.value()
	if err != nil || v.IsNull() {
		return "", err
	}
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.FormatBool(v.Boolean()), nil
	case parquet.Float, parquet.Double:
	default:
		return c.toText(v)
	}
	f, err := c.number(v)
	switch {
	case err != nil || math.IsNaN(f):
		return "", err
	case f != math.Trunc(f) || math.Abs(f) > 1<<53:
		return "", fmt.Errorf("column %s: %v is no name of a class, want a string or an integer", c.name, f)
	}
	return strconv.FormatInt(int64(f), 10), nil
}

// number converts a number or bool.
func (c *cursor) number(v parquet.Value) (float64, error) {
	if v.IsNull() || c.decimal {
		return 0, c.wrong(v, "a number")
	}
	switch v.Kind() {
	case parquet.Float:
		return float64(v.Float()), nil
	case parquet.Double:
		return v.Double(), nil
	case parquet.Int32:
		return float64(v.Int32()), nil
	case parquet.Int64:
		return float64(v.Int64()), nil
	case parquet.Boolean:
		if v.Boolean() {
			return 1, nil
		}
		return 0, nil
	}
	return 0, c.wrong(v, "a number")
}

func (c *cursor) toFeature(v parquet.Value) (float32, error) {
	f, err := c.number(v)
	if err != nil {
		return 0, err
	}
	x, err := dataset.Float32(f)
	if err != nil {
		return 0, fmt.Errorf("column %s: it is %w", c.name, err)
	}
	return x, nil
}

// feature returns the one number of a row.
func (c *cursor) feature() (float32, error) {
	v, err := c.value()
	if err != nil {
		return 0, err
	}
	return c.toFeature(v)
}

// numbers appends the list of a row.
func (c *cursor) numbers(x []float32) ([]float32, error) {
	v, err := c.value()
	if err != nil {
		return x, err
	}
	// A list that is null or empty has one value, which is null at a lower level.
	if v.IsNull() && v.DefinitionLevel() < c.most-1 {
		return x, fmt.Errorf("column %s: the list is null or empty", c.name)
	}
	for {
		f, err := c.toFeature(v)
		if err != nil {
			return x, fmt.Errorf("[%d]: %w", len(x), err)
		}
		if x = append(x, f); len(x) > maxList {
			return x, fmt.Errorf("column %s: a list of more than %d numbers", c.name, maxList)
		}
		v, err = c.peek()
		if errors.Is(err, io.EOF) || err == nil && v.RepetitionLevel() == 0 {
			return x, nil
		}
		if err != nil {
			return x, err
		}
		c.next = c.next[1:]
	}
}

// one reads a weight and refuses a weight other than 1.
func (c *cursor) one() error {
	v, err := c.value()
	if err != nil {
		return err
	}
	w, err := c.number(v)
	if err != nil {
		return err
	}
	if err := dataset.CheckWeight(w); err != nil {
		return fmt.Errorf("column %s: %w", c.name, err)
	}
	return nil
}
