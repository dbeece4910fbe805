package pickle

import (
	"fmt"
	"math"
	"strconv"
)

// Tuple is a tuple.
type Tuple []any

// List is a list; lists are shared by reference.
type List struct{ Items []any }

// Dict is a dict in the order of its insertions. A key that was set twice occurs twice.
type Dict struct {
	Keys   []any // int64 or string
	Values []any
}

// Get returns the last value of a string key.
func (d *Dict) Get(key string) (any, bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if d.Keys[i] == any(key) {
			return d.Values[i], true
		}
	}
	return nil, false
}

// Object is an instance of a class that is known by its name alone.
type Object struct {
	Class string // such as scipy.sparse.csr_matrix
	State *Dict  // attributes; nil before they are set
}

// Array is an n-dimensional array in the form of its bytes. Their number has not been compared with Shape and Type.
type Array struct {
	Type    string // of an element, such as <i4; empty if the pickle never gave the array a state
	Shape   []int
	Fortran bool // the first index runs fastest in memory, instead of the last
	Data    string
}

// dtype is the type of an array's elements.
type dtype struct {
	kind byte // b, i, u or f
	size int  // bytes
	big  bool // byte order
}

func (t *dtype) String() string {
	order := "<"
	if t.size == 1 {
		order = "|"
	} else if t.big {
		order = ">"
	}
	return order + string(t.kind) + strconv.Itoa(t.size)
}

// parseType reads a type's name without byte order, such as f4.
func parseType(name string) (*dtype, error) {
	switch name {
	case "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8":
		return &dtype{kind: name[0], size: int(name[1] - '0')}, nil
	}
	return nil, fmt.Errorf("dtype %.20q is not one of b1, i1…i8, u1…u8, f4, f8", name)
}

// integer decodes an item of integer type that int64 holds.
func (t *dtype) integer(item string) (int64, bool) {
	bits := uint64(0)
	for i := range t.size {
		place := i
		if t.big {
			place = t.size - 1 - i
		}
		bits |= uint64(item[place]) << (8 * i)
	}
	switch unused := 64 - 8*t.size; t.kind {
	case 'i':
		return int64(bits<<unused) >> unused, true
	case 'u':
		return int64(bits), bits <= math.MaxInt64
	}
	return 0, false
}
