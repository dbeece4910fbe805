package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Tuple is a tuple.
type Tuple []any

// List is a list; lists are shared by reference.
type List struct{ Items []any }

// Dict is a dict in the order of its insertions. A key that was set twice stands twice.
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

// Object is an instance of a class that is known by name alone.
type Object struct {
	Class string // such as scipy.sparse.csr_matrix
	State *Dict  // attributes; nil before they are set
}

// Array is an n-dimensional array. One whose pickle never gave it a state has no type and no elements.
type Array struct {
	Shape   []int
	Fortran bool // the first index runs fastest in memory, instead of the last
	dtype   *dtype
	data    string // as many items as Shape says
}

// Len is the number of elements.
func (a *Array) Len() int {
	if a.dtype == nil {
		return 0
	}
	return len(a.data) / a.dtype.size
}

// Type is the type of an element, such as <i4.
func (a *Array) Type() string {
	if a.dtype == nil {
		return "none"
	}
	return a.dtype.String()
}

// Index is where element (i, j) of a matrix stands in memory, for [Array.Int] and [Array.Float].
func (a *Array) Index(i, j int) int {
	if a.Fortran {
		return j*a.Shape[0] + i
	}
	return i*a.Shape[1] + j
}

// Int returns the k-th element in memory. A fraction, or an integer beyond int64, is an error.
func (a *Array) Int(k int) (int64, error) {
	if v, ok := a.dtype.integer(a.item(k)); ok {
		return v, nil
	}
	v := a.Float(k)
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, fmt.Errorf("[%d] is %v, want an integer", k, v)
	}
	return int64(v), nil
}

// Float returns the k-th element in memory.
func (a *Array) Float(k int) float64 {
	if v, ok := a.dtype.integer(a.item(k)); ok {
		return float64(v)
	}
	return a.dtype.float(a.item(k))
}

func (a *Array) item(k int) string { return a.data[k*a.dtype.size : (k+1)*a.dtype.size] }

// dtype is the type of an array's elements.
type dtype struct {
	kind byte // b, i, u or f
	size int  // bytes
	big  bool // byte order
}

func (t *dtype) String() string {
	order := "<"
	if t.big {
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

func (t *dtype) bits(item string) uint64 {
	var b [8]byte
	if t.big {
		copy(b[8-t.size:], item)
		return binary.BigEndian.Uint64(b[:])
	}
	copy(b[:], item)
	return binary.LittleEndian.Uint64(b[:])
}

// integer decodes an item of integer type that int64 holds.
func (t *dtype) integer(item string) (int64, bool) {
	bits := t.bits(item)
	switch t.kind {
	case 'b':
		return int64(min(bits, 1)), true
	case 'u':
		return int64(bits), bits <= math.MaxInt64
	case 'i':
		unused := 64 - 8*t.size
		return int64(bits<<unused) >> unused, true
	}
	return 0, false
}

// float decodes an item that is not integer.
func (t *dtype) float(item string) float64 {
	bits := t.bits(item)
	switch {
	case t.kind == 'u':
		return float64(bits)
	case t.size == 4:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}
