package numpy

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"rivulet/graph"
)

// ReadSparse reads a CSR matrix as scipy.sparse.save_npz writes it, and checks the whole matrix. The rows are sorted;
// an entry that occurs twice is an error.
func ReadSparse(z *Archive) (*graph.CSR, error) {
	m := &graph.CSR{}
	for _, array := range []struct {
		name   string
		decode func(*Array) error
	}{
		{"format", func(a *Array) error {
			format, err := a.Text()
			if err == nil && format != "csr" {
				err = fmt.Errorf("the matrix is stored as %q, want \"csr\": in Python save_npz(file, m.tocsr())", format)
			}
			return err
		}},
		{"shape", func(a *Array) error { return decodeShape(a, m) }},
		{"indptr", func(a *Array) error { return decodeRowPtr(a, m) }},
		{"indices", func(a *Array) (err error) {
			m.ColIdx, err = decodeIndices(a, m.RowPtr[m.Rows], m.Cols)
			return err
		}},
		{"data", func(a *Array) error { return decodeValues(a, m) }},
	} {
		if err := z.Read(array.name, array.decode); err != nil {
			return nil, err
		}
	}
	if err := sortDistinct(m); err != nil {
		return nil, fmt.Errorf("array indices: %w", err)
	}
	return m, nil
}

// elements returns the length of an array of one dimension, -1 for other arrays.
func elements(a *Array) int {
	if len(a.Shape) == 1 {
		return a.Shape[0]
	}
	return -1
}

func decodeShape(a *Array, m *graph.CSR) error {
	if n := elements(a); n != 2 {
		return fmt.Errorf("%d values, want rows and columns", max(n, 0))
	}
	return a.Ints(func(k int, v int64) error {
		if v < 1 || v > math.MaxInt32 {
			return fmt.Errorf("[%d] is %d, outside 1…%d", k, v, math.MaxInt32)
		}
		if k == 0 {
			m.Rows = int(v)
		} else {
			m.Cols = int(v)
		}
		return nil
	})
}

func decodeRowPtr(a *Array, m *graph.CSR) error {
	if n := elements(a); n != m.Rows+1 {
		return fmt.Errorf("shape %v, want rows+1 = %d values", a.Shape, m.Rows+1)
	}
	m.RowPtr = make([]int, m.Rows+1)
	return a.Ints(func(k int, v int64) error {
		switch {
		case k == 0 && v != 0:
			return fmt.Errorf("[0] is %d, want 0", v)
		case k > 0 && v < int64(m.RowPtr[k-1]):
			return fmt.Errorf("[%d] is %d, below [%d] = %d", k, v, k-1, m.RowPtr[k-1])
		}
		m.RowPtr[k] = int(v)
		return nil
	})
}

// decodeIndices reads count indices below limit.
func decodeIndices(a *Array, count, limit int) ([]int32, error) {
	if n := elements(a); n < 0 || n != count {
		return nil, fmt.Errorf("shape %v, want %d values", a.Shape, count)
	}
	out := make([]int32, count)
	return out, a.Ints(func(k int, v int64) error {
		if v < 0 || v >= int64(limit) {
			return fmt.Errorf("[%d] is %d, outside 0…%d", k, v, limit-1)
		}
		out[k] = int32(v)
		return nil
	})
}

func decodeValues(a *Array, m *graph.CSR) error {
	if n := elements(a); n != len(m.ColIdx) {
		return fmt.Errorf("shape %v, want as many values as indices, %d", a.Shape, len(m.ColIdx))
	}
	m.Val = make([]float32, len(m.ColIdx))
	return a.Floats(func(k int, v float32) error {
		m.Val[k] = v
		return nil
	})
}

// sortDistinct orders the columns of each row and refuses a column that stands twice in a row.
func sortDistinct(m *graph.CSR) error {
	m.DropOnes()
	entries := m.NNZ()
	before := slices.Clone(m.RowPtr)
	m.SortRows()
	if m.NNZ() == entries {
		return nil
	}
	for i := range m.Rows {
		if m.RowLen(i) != before[i+1]-before[i] {
			return fmt.Errorf("row %d lists %d columns, %d of them distinct", i, before[i+1]-before[i], m.RowLen(i))
		}
	}
	return nil
}

// ReadDense reads an n×d matrix of numbers in either memory order.
func ReadDense(a *Array) (*graph.Dense, error) {
	if len(a.Shape) != 2 || a.Shape[0] > math.MaxInt32 || a.Shape[1] > math.MaxInt32 || a.Count == 0 {
		return nil, fmt.Errorf("shape %v, want nodes×features", a.Shape)
	}
	x := graph.NewDense(a.Shape[0], a.Shape[1])
	spans := make([]Span, x.Cols)
	err := a.floats(func(k int, v float64) error {
		i, j := a.Position(k)
		x.Data[i*x.Cols+j] = float32(v)
		spans[j].See(v)
		return nil
	})
	for j := 0; err == nil && j < len(spans); j++ {
		err = spans[j].Check(strconv.Itoa(j), "leave the column out")
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// CheckSquare refuses a matrix that is no adjacency matrix.
func CheckSquare(adj *graph.CSR) error {
	if adj.Rows != adj.Cols {
		return fmt.Errorf("array shape: %d×%d, want a square matrix", adj.Rows, adj.Cols)
	}
	for i := range adj.Rows {
		cols, vals := adj.Row(i)
		for p, v := range vals {
			if v == 0 {
				return fmt.Errorf("array data: edge %d–%d has weight 0: leave it out", i, cols[p])
			}
		}
	}
	return nil
}
