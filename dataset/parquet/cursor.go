package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"rivulet/dataset"
)

// maxList bounds the list of a row, whose length is declared nowhere: pages of a few bytes each could fill any
// memory.
const maxList = 1 << 20

// cursor reads one column chunk value by value. Bytes of a value are valid until the next value.
type cursor struct {
	name string
	most int // definition level of a value that is not null
	list bool
	null bool                               // elements of the list can be null
	read func(parquet.Value, *dataset.Cell) // a value that is not null

	values  parquet.ColumnChunkValueReader
	buf     [256]parquet.Value
	next    []parquet.Value // of buf
	numbers []float32
}

// reader returns what makes cells of a column's values.
func reader(c *parquet.Column) (func(parquet.Value, *dataset.Cell), error) {
	var logical any
	if t := c.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	switch as := logical.(type) {
	case *format.DecimalType:
		if c.Type().Kind() != parquet.Int32 && c.Type().Kind() != parquet.Int64 {
			return nil, errors.New("decimals of more than 18 digits are not supported: write floats, or drop it")
		}
		unit := math.Pow10(int(as.Scale))
		return func(v parquet.Value, to *dataset.Cell) { to.Kind, to.Float = dataset.Float, float64(v.Int64())/unit }, nil
	case *format.DateType:
		return func(v parquet.Value, to *dataset.Cell) {
			to.Kind, to.Time = dataset.Time, time.Unix(int64(v.Int32())*24*60*60, 0).UTC()
		}, nil
	case *format.TimestampType:
		return timestamps(as)
	case nil, *format.IntType, *format.StringType, *format.EnumType, *format.JsonType:
	default:
		return nil, fmt.Errorf("its type %s is not supported: drop it, or write it as text or a number", c.Type())
	}
	switch kind := c.Type().Kind(); kind {
	case parquet.ByteArray:
		return func(v parquet.Value, to *dataset.Cell) { to.Kind, to.Text = dataset.Text, string(v.ByteArray()) }, nil
	case parquet.Boolean:
		return func(v parquet.Value, to *dataset.Cell) {
			if to.Kind, to.Int = dataset.Bool, 0; v.Boolean() {
				to.Int = 1
			}
		}, nil
	case parquet.Int32:
		return func(v parquet.Value, to *dataset.Cell) { to.Kind, to.Int = dataset.Int, int64(v.Int32()) }, nil
	case parquet.Int64:
		return func(v parquet.Value, to *dataset.Cell) { to.Kind, to.Int = dataset.Int, v.Int64() }, nil
	case parquet.Float:
		return func(v parquet.Value, to *dataset.Cell) { to.Kind, to.Float = dataset.Float, float64(v.Float()) }, nil
	case parquet.Double:
		return func(v parquet.Value, to *dataset.Cell) { to.Kind, to.Float = dataset.Float, v.Double() }, nil
	case parquet.Int96:
		return julian, nil
	default:
		return nil, fmt.Errorf("its type %s is not supported: drop it, or write it as text or a number", kind)
	}
}

// timestamps reads a time of any unit.
func timestamps(as *format.TimestampType) (func(parquet.Value, *dataset.Cell), error) {
	switch as.Unit.Value.(type) {
	case *format.MilliSeconds:
		return func(v parquet.Value, to *dataset.Cell) {
			to.Kind, to.Time = dataset.Time, time.UnixMilli(v.Int64()).UTC()
		}, nil
	case *format.MicroSeconds:
		return func(v parquet.Value, to *dataset.Cell) {
			to.Kind, to.Time = dataset.Time, time.UnixMicro(v.Int64()).UTC()
		}, nil
	case *format.NanoSeconds:
		return func(v parquet.Value, to *dataset.Cell) {
			to.Kind, to.Time = dataset.Time, time.Unix(0, v.Int64()).UTC()
		}, nil
	}
	return nil, errors.New("its timestamps are of an unknown unit")
}

// julian reads the time of Hive, Impala and Spark: nanoseconds of the day, and the Julian day.
func julian(v parquet.Value, to *dataset.Cell) {
	const epoch = 2_440_588 // 1 January 1970
	i := v.Int96()
	nanoseconds := int64(i[0]) | int64(i[1])<<32
	to.Kind, to.Time = dataset.Time, time.Unix((int64(i[2])-epoch)*24*60*60, nanoseconds).UTC()
}

func (c *cursor) close() { _ = c.values.Close() } // nothing was written

// peek returns the next value without consuming it; io.EOF after the last.
func (c *cursor) peek() (parquet.Value, error) {
	if len(c.next) == 0 {
		n, err := c.values.ReadValues(c.buf[:])
		if n == 0 && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("reading values: %w", err)
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
		return v, errors.New("fewer values than rows")
	case err != nil:
		return v, err
	}
	c.next = c.next[1:]
	if v.RepetitionLevel() != 0 {
		return v, errors.New("a value continues a list that no row began")
	}
	return v, nil
}

// cell reads the value of the next row. Its list is valid until the next row.
func (c *cursor) cell(to *dataset.Cell) error {
	*to = dataset.Cell{}
	v, err := c.value()
	if err != nil {
		return err
	}
	if c.list {
		return c.cells(v, to)
	}
	if !v.IsNull() {
		c.read(v, to)
	}
	return nil
}

// cells reads a list of numbers that begins with v.
func (c *cursor) cells(v parquet.Value, to *dataset.Cell) error {
	// A list that is null or empty has one value, which is null at a lower level.
	if v.IsNull() && (!c.null || v.DefinitionLevel() < c.most-1) {
		return nil
	}
	c.numbers = c.numbers[:0]
	for {
		if v.IsNull() {
			return fmt.Errorf("[%d]: it is null, want a number", len(c.numbers))
		}
		var element dataset.Cell
		c.read(v, &element)
		x, err := element.Number()
		if err != nil {
			return fmt.Errorf("[%d]: %w", len(c.numbers), err)
		}
		if c.numbers = append(c.numbers, float32(x)); len(c.numbers) > maxList {
			return fmt.Errorf("a list of more than %d numbers", maxList)
		}
		v, err = c.peek()
		if errors.Is(err, io.EOF) || err == nil && v.RepetitionLevel() == 0 {
			to.Kind, to.List = dataset.List, c.numbers
			return nil
		}
		if err != nil {
			return err
		}
		c.next = c.next[1:]
	}
}
