package partition

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"rivulet/dataset/table"
	"rivulet/trainer/stage"
)

// cellOf reads a cell of a table in place. It is the cell that dataset/parquet makes of the value.
func cellOf(field []byte) (table.Cell, error) {
	if len(field) == 0 {
		return table.Cell{}, nil
	}
	text := string(field[1:])
	switch letter := field[0]; letter {
	case stage.CellText:
		decoded, err := base64.StdEncoding.DecodeString(text)
		return table.Cell{Kind: table.Text, Text: string(decoded)}, err
	case stage.CellInteger, stage.CellFloat, stage.CellDouble:
		return number(letter, text)
	case stage.CellBool:
		v, err := strconv.ParseInt(text, 10, 64)
		return table.Cell{Kind: table.Bool, Int: v}, err
	case stage.CellDecimal:
		return decimal(field[1:])
	case stage.CellIntegers, stage.CellFloats, stage.CellDoubles:
		return list(letter-'A'+'a', field[1:])
	}
	return table.Cell{}, fmt.Errorf("a cell %.40q that is of no known kind", field)
}

// number reads an integer or a float, as Java writes it.
func number(letter byte, text string) (c table.Cell, err error) {
	switch letter {
	case stage.CellFloat:
		c.Kind = table.Float
		c.Float, err = strconv.ParseFloat(text, 32)
	case stage.CellDouble:
		c.Kind = table.Float
		c.Float, err = strconv.ParseFloat(text, 64)
	default:
		c.Kind = table.Int
		c.Int, err = strconv.ParseInt(text, 10, 64)
	}
	return c, err
}

// decimal reads digits of the fraction, and the number without its point.
func decimal(field []byte) (table.Cell, error) {
	scale, digits, _ := bytes.Cut(field, []byte{':'})
	places, err := strconv.Atoi(string(scale))
	if err != nil {
		return table.Cell{}, err
	}
	unscaled, err := strconv.ParseInt(string(digits), 10, 64)
	return table.Cell{Kind: table.Float, Float: float64(unscaled) / math.Pow10(places)}, err
}

// list reads a list of numbers of the letter of its elements. One without any is null.
func list(letter byte, field []byte) (table.Cell, error) {
	if len(field) == 0 {
		return table.Cell{}, nil
	}
	c := table.Cell{Kind: table.List}
	for rest, more := field, true; more; {
		var element []byte
		element, rest, more = bytes.Cut(rest, []byte{','})
		if string(element) == stage.CellNull {
			return c, fmt.Errorf("[%d]: it is null, want a number", len(c.List))
		}
		one, err := number(letter, string(element))
		if err != nil {
			return c, err
		}
		x, err := one.Number()
		if err != nil {
			return c, fmt.Errorf("[%d]: %w", len(c.List), err)
		}
		c.List = append(c.List, x)
	}
	return c, nil
}
