package graph

import (
	"errors"
	"fmt"
	"math"
)

// Features are n rows of d raw node features. Exactly one of Dense and Sparse is set.
type Features struct {
	Dense  *Dense
	Sparse *CSR
}

// Rows returns the number of nodes n.
func (f Features) Rows() int {
	if f.Sparse != nil {
		return f.Sparse.Rows
	}
	return f.Dense.Rows
}

// Cols returns the number of features d.
func (f Features) Cols() int {
	if f.Sparse != nil {
		return f.Sparse.Cols
	}
	return f.Dense.Cols
}

// Each visits the values of row i that are stored: all of a dense row, a value of 1 for each entry of a pattern.
func (f Features) Each(i int, visit func(c int, v float32)) {
	if f.Sparse == nil {
		for c, v := range f.Dense.Row(i) {
			visit(c, v)
		}
		return
	}
	cols, vals := f.Sparse.Row(i)
	for p, c := range cols {
		if vals == nil {
			visit(int(c), 1)
		} else {
			visit(int(c), vals[p])
		}
	}
}

// Take returns the given rows, in that order.
func (f Features) Take(rows []int32) Features {
	if f.Sparse != nil {
		return Features{Sparse: f.Sparse.Take(rows)}
	}
	return Features{Dense: f.Dense.Take(rows)}
}

// Validate checks shape and finiteness.
func (f Features) Validate() error {
	switch {
	case (f.Dense == nil) == (f.Sparse == nil):
		return errors.New("exactly one of dense and sparse features must be set")
	case f.Sparse != nil:
		return f.Sparse.Validate()
	case f.Dense.Rows < 0 || f.Dense.Cols < 0:
		return fmt.Errorf("shape %d×%d is negative", f.Dense.Rows, f.Dense.Cols)
	case len(f.Dense.Data) != f.Dense.Rows*f.Dense.Cols:
		return fmt.Errorf("%d values for shape %d×%d", len(f.Dense.Data), f.Dense.Rows, f.Dense.Cols)
	}
	for k, v := range f.Dense.Data {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("row %d, column %d is %v", k/f.Dense.Cols, k%f.Dense.Cols, v)
		}
	}
	return nil
}
