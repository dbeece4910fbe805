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

// cursor reads one column chunk value by value. Bytes of a value are good until the next. Errors name the column.
type cursor struct {
	name    string
	most    int // definition level of a value that is there
	decimal bool

	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    [256]parquet.Value
	next   []parquet.Value // of buf
	left   int64           // values of the chunk behind next
}

// isDecimal is true of integers that stand for something else: a decimal fraction, a date or a time.
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

func (c *cursor) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	_ = c.pages.Close() // nothing was written
}

// done says that no value is left.
func (c *cursor) done() bool { return len(c.next) == 0 && c.left == 0 }

// fill makes sure that a value is buffered, unless none is left.
func (c *cursor) fill() error {
	for len(c.next) == 0 && c.left > 0 {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return fmt.Errorf("column %s: %w", c.name, err)
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buf[:min(int64(len(c.buf)), c.left)])
		c.next, c.left = c.buf[:n], c.left-int64(n)
		if n > 0 {
			return nil // an end of the page comes again
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
		parquet.Release(c.page)
		c.page, c.values = nil, nil
	}
	return nil
}

// value returns the next value, which begins a row.
func (c *cursor) value() (parquet.Value, error) {
	if err := c.fill(); err != nil {
		return parquet.Value{}, err
	}
	if len(c.next) == 0 {
		return parquet.Value{}, fmt.Errorf("column %s: fewer values than rows", c.name)
	}
	v := c.next[0]
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

// label returns text that may be missing. Integers come as floats from libraries that have no other missing value.
func (c *cursor) label() (string, error) {
	if err := c.fill(); err != nil {
		return "", err
	}
	if len(c.next) == 0 {
		return c.text() // says what is wrong
	}
	v := c.next[0]
	if v.IsNull() {
		_, err := c.value()
		return "", err
	}
	f := 0.0
	switch v.Kind() {
	case parquet.Boolean:
		_, err := c.value()
		return strconv.FormatBool(v.Boolean()), err
	case parquet.Float:
		f = float64(v.Float())
	case parquet.Double:
		f = v.Double()
	default:
		return c.text()
	}
	_, err := c.value()
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
	// A list that is null or empty has one value, which is not there at a lower level.
	if v.IsNull() && v.DefinitionLevel() < c.most-1 {
		return x, fmt.Errorf("column %s: the list is null or empty", c.name)
	}
	for {
		f, err := c.toFeature(v)
		if err != nil {
			return x, fmt.Errorf("[%d]: %w", len(x), err)
		}
		x = append(x, f)
		if err := c.fill(); err != nil {
			return x, err
		}
		if len(c.next) == 0 || c.next[0].RepetitionLevel() == 0 {
			return x, nil
		}
		v, c.next = c.next[0], c.next[1:]
	}
}

// one refuses a weight other than 1.
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
