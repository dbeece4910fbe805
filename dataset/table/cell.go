package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"rivulet/dataset/literal"
	"rivulet/dataset/numpy"
)

// CellKind describes how a file gives a value.
type CellKind uint8

// The kinds of cells.
const (
	Null  CellKind = iota
	Raw            // text of a file without types, such as CSV: its meaning follows from the whole column
	Text           // text of a file with types: stays text whatever it looks like
	Int            // an integer
	Float          // a number
	Bool           // true or false
	Time           // a date, or a time
	List           // numbers
	Names          // a list of texts: Text has them with [target.Mark] between, or the mark alone if there are none
)

// Cell is one value of a row of a table. Text and List are valid until the next row.
type Cell struct {
	Kind CellKind
	Text string
	Int  int64 // of Int; 1 or 0 of Bool
	// Unsigned says that the bits of Int are a uint64's.
	Unsigned bool
	Float    float64
	Time     time.Time
	List     []float64
}

// missing reports whether the cell has no value.
func (c *Cell) missing() bool {
	switch c.Kind {
	case Null:
		return true
	case Float:
		return math.IsNaN(c.Float)
	case Raw, Text:
		return literal.Missing(c.Text)
	}
	return false
}

// String returns the cell's text for errors.
func (c *Cell) String() string {
	switch c.Kind {
	case Raw, Text:
		return fmt.Sprintf("%.40q", c.Text)
	case Int:
		if c.Unsigned {
			return strconv.FormatUint(uint64(c.Int), 10)
		}
		return strconv.FormatInt(c.Int, 10)
	case Float:
		return strconv.FormatFloat(c.Float, 'g', -1, 64)
	case Bool:
		return strconv.FormatBool(c.Int != 0)
	case Time:
		return c.Time.Format(time.RFC3339Nano)
	case List:
		return fmt.Sprintf("a list of %d numbers", len(c.List))
	case Names:
		return "a list of texts"
	}
	return "null"
}

// number returns the cell's value as a finite number within the range of float32. With commas a comma divides
// the fraction.
func (c *Cell) number(commas bool) (float64, error) {
	switch c.Kind {
	case Int, Bool:
		if c.Unsigned {
			return float64(uint64(c.Int)), nil
		}
		return float64(c.Int), nil
	case Float:
		_, err := numpy.Float32(c.Float)
		if err != nil {
			err = fmt.Errorf("it is %w", err)
		}
		return c.Float, err
	case Raw, Text:
		return literal.Number(strings.TrimSpace(c.Text), commas)
	}
	return 0, fmt.Errorf("%s is not a number", c)
}

// Number returns the number of a cell that is no text.
func (c *Cell) Number() (float64, error) {
	if c.Kind == Raw || c.Kind == Text {
		return 0, fmt.Errorf("%s is not a number", c)
	}
	return c.number(false)
}

// bool returns the value of a bool, of the words true and false, or of 1 and 0.
func (c *Cell) bool() (bool, error) {
	switch c.Kind {
	case Int, Bool:
		if c.Int == 0 || c.Int == 1 {
			return c.Int == 1, nil
		}
	case Float:
		if c.Float == 0 || c.Float == 1 {
			return c.Float == 1, nil
		}
	case Raw, Text:
		switch strings.ToLower(strings.TrimSpace(c.Text)) {
		case "true", "1", "1.0":
			return true, nil
		case "false", "0", "0.0":
			return false, nil
		}
	}
	return false, fmt.Errorf("%s is not true or false", c)
}

func (c *Cell) time() (time.Time, error) {
	switch c.Kind {
	case Time:
		return c.Time.UTC(), nil
	case Raw, Text:
		t, _, err := literal.Time(strings.TrimSpace(c.Text))
		return t, err
	}
	return time.Time{}, fmt.Errorf("%s is not a date or time", c)
}

// when returns a time as a number: of a number itself, of a date or time the seconds since 1970.
func (c *Cell) when() (float64, error) {
	if v, err := c.number(false); err == nil {
		return v, nil
	}
	t, err := c.time()
	if err != nil {
		return 0, fmt.Errorf("%w, nor a number", err)
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, nil
}

// list returns the numbers of a list.
func (c *Cell) list() ([]float64, error) {
	switch c.Kind {
	case List:
		return c.List, nil
	case Raw, Text:
		return literal.List(c.Text)
	}
	return nil, fmt.Errorf("%s is not a list of numbers", c)
}

// text returns the cell's value as text. Integers that are given as floats lose their fraction: pandas makes
// floats of integers beside missing values. Bools are true and false. Raw text is returned as it is.
func (c *Cell) text() (string, error) {
	switch c.Kind {
	case Raw, Text:
		if !utf8.ValidString(c.Text) && c.Kind == Text {
			return "", fmt.Errorf("%.40q is not UTF-8: bytes are no text: drop the column, or write it as text", c.Text)
		}
		if !utf8.ValidString(c.Text) {
			return "", fmt.Errorf("%.40q is not UTF-8: name the file's encoding, such as latin1", c.Text)
		}
		return c.Text, nil
	case Float:
		return decimal(c.Float)
	case Int, Bool, Time:
		return c.String(), nil
	}
	return "", fmt.Errorf("it is %s, want text or a number", c)
}

// exactIntegers is the largest number below which a float64 holds every integer.
const exactIntegers = 1 << 53

// decimal returns an integer that is given as a float.
func decimal(v float64) (string, error) {
	switch {
	case v != math.Trunc(v) || math.IsInf(v, 0):
		return "", fmt.Errorf("%v is no integer, which a name must be if it is a number", v)
	case math.Abs(v) > exactIntegers:
		return "", fmt.Errorf("%v has lost digits: an integer of more than 15 digits was read as a float; read it as text "+
			"(dtype=str)", v)
	}
	return strconv.FormatInt(int64(v), 10), nil
}
