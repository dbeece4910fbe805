// Package tensor takes the named weights of a model out of a set, and says which of them does not fit.
package tensor

import (
	"fmt"
	"maps"
	"slices"

	"rivulet/graph"
)

// Tensor is a matrix with a name, such as a model's weights; a bias has Rows 1.
type Tensor struct {
	Name  string
	Value *graph.Dense
}

// Set hands out tensors by name and keeps the first thing that is wrong, so that a builder need not check each step.
type Set struct {
	left map[string]*graph.Dense
	err  error
}

// NewSet returns a set of these tensors. Two with the same name are an error.
func NewSet(all []Tensor) *Set {
	s := &Set{left: make(map[string]*graph.Dense, len(all))}
	for _, t := range all {
		switch v := t.Value; {
		case s.left[t.Name] != nil:
			s.Fail(fmt.Errorf("tensor %s is there twice", t.Name))
		case v == nil:
			s.Fail(fmt.Errorf("tensor %s has no values", t.Name))
		case v.Rows < 1 || v.Cols < 1:
			s.Fail(fmt.Errorf("tensor %s is %s, want at least 1×1", t.Name, shape(v)))
		case len(v.Data) != v.Rows*v.Cols:
			s.Fail(fmt.Errorf("tensor %s has %d values for shape %s", t.Name, len(v.Data), shape(v)))
		default:
			s.left[t.Name] = v
		}
	}
	return s
}

// Fail keeps an error, unless an earlier one is kept.
func (s *Set) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Err returns the first thing that is wrong.
func (s *Set) Err() error { return s.err }

// Has reports whether a tensor is there and was not taken.
func (s *Set) Has(name string) bool { return s.left[name] != nil }

// Free takes a tensor of any shape. Where it is missing the builder goes on with a 1×1 one, and its model is never
// used.
func (s *Set) Free(name string) *graph.Dense {
	value, ok := s.left[name]
	if !ok {
		s.Fail(fmt.Errorf("tensor %s is missing", name))
		return graph.NewDense(1, 1)
	}
	delete(s.left, name)
	return value
}

// Sized takes a tensor of r×c.
func (s *Set) Sized(name string, r, c int) *graph.Dense {
	value := s.Free(name)
	if value.Rows != r || value.Cols != c {
		s.Fail(fmt.Errorf("tensor %s is %s, want %d×%d", name, shape(value), r, c))
	}
	return value
}

// Chain checks that a layer reads as many columns as the one before it writes.
func (s *Set) Chain(name string, w *graph.Dense, beforeName string, before *graph.Dense) {
	if w.Rows != before.Cols {
		s.Fail(fmt.Errorf("tensor %s is %s, want %d rows as %s is %s", name, shape(w), before.Cols, beforeName,
			shape(before)))
	}
}

// End returns the first thing that is wrong, or names a tensor that nobody took.
func (s *Set) End() error {
	if names := slices.Sorted(maps.Keys(s.left)); len(names) > 0 {
		s.Fail(fmt.Errorf("tensor %s (%s) is not one of its weights", names[0], shape(s.left[names[0]])))
	}
	return s.err
}

func shape(m *graph.Dense) string { return fmt.Sprintf("%d×%d", m.Rows, m.Cols) }
