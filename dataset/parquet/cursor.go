package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"rivulet/dataset/table"
	"rivulet/infer/target"
)

// maxList bounds the list of a row, whose length is declared nowhere: pages of a few bytes each could fill any
// memory.
const maxList = 1 << 20

// cursor reads one column chunk value by value. Bytes of a value are valid until the next value.
type cursor struct {
	name string
	most int // definition level of a value that is not null
	list bool
	null bool                             // elements of the list can be null
	text bool                             // elements of the list are texts
	read func(parquet.Value, *table.Cell) // a value that is not null

	values  parquet.ColumnChunkValueReader
	buf     [256]parquet.Value
	next    []parquet.Value // of buf
	numbers []float64
}

// logicalType returns the meaning of a column's values beside their physical type; nil: none. The library knows the
// meaning of most columns whose file has only the older annotation (converted type), and forgets the others'.
func logicalType(c *parquet.Column, e *format.SchemaElement) (any, error) {
	t := c.Type().LogicalType()
	switch old := e.ConvertedType; {
	case e.LogicalType.Value != nil:
		return e.LogicalType.Value, nil
	case t != nil && t.Value != nil:
		return t.Value, nil
	case old.Valid && old.V == deprecated.Decimal:
		return &format.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}, nil
	case old.Valid && old.V == deprecated.Interval:
		return nil, errors.New("it holds durations (INTERVAL), which are months, days and milliseconds: write it as a " +
			"number of one unit, or drop it")
	case old.Valid:
		return nil, fmt.Errorf("its converted type %d is not supported: drop it, or write it as text or a number", old.V)
	}
	return nil, nil
}

// reader returns a function that makes cells of a column's values.
func reader(c *parquet.Column, e *format.SchemaElement) (func(parquet.Value, *table.Cell), error) {
	logical, err := logicalType(c, e)
	if err != nil {
		return nil, err
	}
	switch as := logical.(type) {
	case *format.NullType:
		return func(parquet.Value, *table.Cell) {}, nil
	case *format.DecimalType:
		return decimals(c.Type().Kind(), int(as.Scale))
	case *format.DateType:
		return func(v parquet.Value, to *table.Cell) {
			to.Kind, to.Time = table.Time, time.Unix(int64(v.Int32())*24*60*60, 0).UTC()
		}, nil
	case *format.TimestampType:
		return timestamps(as)
	case *format.IntType:
		if !as.IsSigned {
			return unsigned(c.Type().Kind()), nil
		}
	case *format.UUIDType:
		return func(v parquet.Value, to *table.Cell) {
			b := v.ByteArray()
			to.Kind, to.Text = table.Text, fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}, nil
	case *format.Float16Type:
		return func(v parquet.Value, to *table.Cell) {
			to.Kind, to.Float = table.Float, half(binary.LittleEndian.Uint16(v.ByteArray()))
		}, nil
	case *format.TimeType:
		return nil, errors.New("it holds times of day (TIME), which no feature is made of: write it as a number, or drop it")
	case nil, *format.StringType, *format.EnumType, *format.JsonType:
	default:
		return nil, fmt.Errorf("its type %s is not supported: drop it, or write it as text or a number", as)
	}
	switch kind := c.Type().Kind(); kind {
	case parquet.ByteArray:
		return func(v parquet.Value, to *table.Cell) { to.Kind, to.Text = table.Text, string(v.ByteArray()) }, nil
	case parquet.Boolean:
		return func(v parquet.Value, to *table.Cell) {
			if to.Kind, to.Int = table.Bool, 0; v.Boolean() {
				to.Int = 1
			}
		}, nil
	case parquet.Int32:
		return func(v parquet.Value, to *table.Cell) { to.Kind, to.Int = table.Int, int64(v.Int32()) }, nil
	case parquet.Int64:
		return func(v parquet.Value, to *table.Cell) { to.Kind, to.Int = table.Int, v.Int64() }, nil
	case parquet.Float:
		return func(v parquet.Value, to *table.Cell) { to.Kind, to.Float = table.Float, float64(v.Float()) }, nil
	case parquet.Double:
		return func(v parquet.Value, to *table.Cell) { to.Kind, to.Float = table.Float, v.Double() }, nil
	case parquet.Int96:
		return julian, nil
	default:
		return nil, fmt.Errorf("its type %s is not supported: drop it, or write it as text or a number", kind)
	}
}

// unsigned reads integers whose highest bit is a digit, too.
func unsigned(kind parquet.Kind) func(parquet.Value, *table.Cell) {
	if kind == parquet.Int32 {
		return func(v parquet.Value, to *table.Cell) { to.Kind, to.Int = table.Int, int64(uint32(v.Int32())) }
	}
	return func(v parquet.Value, to *table.Cell) { to.Kind, to.Int, to.Unsigned = table.Int, v.Int64(), true }
}

// decimals reads decimals of any precision: the number without its point is an integer, or the bytes of one. Decimals
// without a fraction become integers if an int64 holds them; others become the nearest float64.
func decimals(kind parquet.Kind, scale int) (func(parquet.Value, *table.Cell), error) {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	put := func(unscaled *big.Int, to *table.Cell) {
		if scale == 0 && unscaled.IsInt64() {
			to.Kind, to.Int = table.Int, unscaled.Int64()
			return
		}
		to.Kind = table.Float
		to.Float, _ = new(big.Rat).SetFrac(unscaled, unit).Float64()
	}
	switch kind {
	case parquet.Int32, parquet.Int64:
		return func(v parquet.Value, to *table.Cell) {
			n := int64(0)
			if n = v.Int64(); kind == parquet.Int32 {
				n = int64(v.Int32())
			}
			put(big.NewInt(n), to)
		}, nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return func(v parquet.Value, to *table.Cell) {
			b := v.ByteArray()
			n := new(big.Int).SetBytes(b)
			if len(b) > 0 && b[0] >= 0x80 { // two's complement
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
			put(n, to)
		}, nil
	}
	return nil, fmt.Errorf("decimals of the type %s are not supported: write floats, or drop it", kind)
}

// half returns a number of 16 bits: a sign, 5 bits of exponent, 10 of fraction (IEEE 754 binary16).
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	v := math.Ldexp(fraction, -24)
	switch {
	case exponent == 31 && fraction == 0:
		v = math.Inf(1)
	case exponent == 31:
		return math.NaN()
	case exponent > 0:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 != 0 {
		return -v
	}
	return v
}

// timestamps reads a time of any unit.
func timestamps(as *format.TimestampType) (func(parquet.Value, *table.Cell), error) {
	switch as.Unit.Value.(type) {
	case *format.MilliSeconds:
		return func(v parquet.Value, to *table.Cell) {
			to.Kind, to.Time = table.Time, time.UnixMilli(v.Int64()).UTC()
		}, nil
	case *format.MicroSeconds:
		return func(v parquet.Value, to *table.Cell) {
			to.Kind, to.Time = table.Time, time.UnixMicro(v.Int64()).UTC()
		}, nil
	case *format.NanoSeconds:
		return func(v parquet.Value, to *table.Cell) {
			to.Kind, to.Time = table.Time, time.Unix(0, v.Int64()).UTC()
		}, nil
	}
	return nil, errors.New("its timestamps are of an unknown unit")
}

// julian reads the time of Hive, Impala and Spark: nanoseconds of the day, and the Julian day.
func julian(v parquet.Value, to *table.Cell) {
	const epoch = 2_440_588 // 1 January 1970
	i := v.Int96()
	nanoseconds := int64(i[0]) | int64(i[1])<<32
	to.Kind, to.Time = table.Time, time.Unix((int64(i[2])-epoch)*24*60*60, nanoseconds).UTC()
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
func (c *cursor) cell(to *table.Cell) error {
	*to = table.Cell{}
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

// names reads a list of texts that begins with v.
func (c *cursor) names(v parquet.Value, to *table.Cell) error {
	empty := c.most - 1 // definition level of a list without elements; one that is null is below it
	if c.null {
		empty--
	}
	if v.IsNull() && v.DefinitionLevel() < empty {
		return nil
	}
	to.Kind = table.Names
	for n := 0; ; n++ {
		var element table.Cell
		if v.IsNull() && v.DefinitionLevel() > empty {
			return fmt.Errorf("[%d]: it is null, want a text", n)
		}
		if !v.IsNull() {
			c.read(v, &element)
		}
		if strings.Contains(element.Text, target.Mark) || n == maxList {
			return fmt.Errorf("[%d]: %.40q has a semicolon, or the list is longer than %d", n, element.Text, maxList)
		}
		to.Text += element.Text + target.Mark
		next, err := c.peek()
		if errors.Is(err, io.EOF) || err == nil && next.RepetitionLevel() == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		v, c.next = next, c.next[1:]
	}
}

// cells reads a list of numbers or texts that begins with v.
func (c *cursor) cells(v parquet.Value, to *table.Cell) error {
	if c.text {
		return c.names(v, to)
	}
	// A list that is null or empty has one value, which is null at a lower level.
	if v.IsNull() && (!c.null || v.DefinitionLevel() < c.most-1) {
		return nil
	}
	c.numbers = c.numbers[:0]
	for {
		if v.IsNull() {
			return fmt.Errorf("[%d]: it is null, want a number", len(c.numbers))
		}
		var element table.Cell
		c.read(v, &element)
		x, err := element.Number()
		if err != nil {
			return fmt.Errorf("[%d]: %w", len(c.numbers), err)
		}
		if c.numbers = append(c.numbers, x); len(c.numbers) > maxList {
			return fmt.Errorf("a list of more than %d numbers", maxList)
		}
		v, err = c.peek()
		if errors.Is(err, io.EOF) || err == nil && v.RepetitionLevel() == 0 {
			to.Kind, to.List = table.List, c.numbers
			return nil
		}
		if err != nil {
			return err
		}
		c.next = c.next[1:]
	}
}
