package numpy

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"rivulet/graph"
)

// Arrays reads arrays by name. Errors name the array.
type Arrays func(name string, decode func(*Array) error) error

// Prefixed reads the arrays of an npz file whose names begin with prefix.
func (z *Archive) Prefixed(prefix string) Arrays {
	return func(name string, decode func(*Array) error) error { return z.Read(prefix+name, decode) }
}

// ReadSparse reads a SciPy CSR, CSC or COO matrix as scipy.sparse.save_npz writes it, and checks the whole matrix. The
// rows are sorted; an entry that occurs twice is an error.
func ReadSparse(z *Archive) (*graph.CSR, error) {
	var format string
	if err := z.Read("format", func(a *Array) (err error) {
		format, err = a.Text()
		if err == nil && format != "csr" && format != "csc" && format != "coo" {
			err = fmt.Errorf("the matrix is stored as %q, want \"csr\", \"csc\" or \"coo\"", format)
		}
		return err
	}); err != nil {
		return nil, err
	}
	read := z.Prefixed("")
	switch format {
	case "coo":
		return readCOO(read, z.believeRows)
	case "csc": // the CSR form of the transpose
		m, err := ReadCompressed(read, true)
		if err == nil {
			err = z.believeRows(m.Cols)
		}
		if err != nil {
			return nil, err
		}
		return m.Transpose(), nil
	}
	return ReadCompressed(read, false)
}

// ReadCompressed reads shape, indptr, indices and data. If transposed is set they are by column, and the result is
// the transpose.
func ReadCompressed(read Arrays, transposed bool) (*graph.CSR, error) {
	m := &graph.CSR{}
	if err := read("shape", func(a *Array) error { return decodeShape(a, m) }); err != nil {
		return nil, err
	}
	if transposed {
		m.Rows, m.Cols = m.Cols, m.Rows
	}
	return m, ReadContent(read, m)
}

// ReadContent reads indptr, indices and data of a matrix whose shape is known.
func ReadContent(read Arrays, m *graph.CSR) error {
	if err := read("indptr", func(a *Array) error { return decodeRowPtr(a, m) }); err != nil {
		return err
	}
	if err := read("indices", func(a *Array) (err error) {
		m.ColIdx, err = decodeIndices(a, m.RowPtr[m.Rows], m.Cols)
		return err
	}); err != nil {
		return err
	}
	if err := read("data", func(a *Array) error { return decodeValues(a, m) }); err != nil {
		return err
	}
	if err := SortDistinct(m); err != nil {
		return fmt.Errorf("array indices: %w", err)
	}
	return nil
}

// readCOO reads shape, row, col and data; believe checks the number of rows.
func readCOO(read Arrays, believe func(rows int) error) (*graph.CSR, error) {
	m := &graph.CSR{}
	if err := read("shape", func(a *Array) error { return decodeShape(a, m) }); err != nil {
		return nil, err
	}
	if err := believe(m.Rows); err != nil {
		return nil, err
	}
	var row []int32
	if err := read("row", func(a *Array) (err error) {
		row, err = decodeIndices(a, Elements(a), m.Rows)
		return err
	}); err != nil {
		return nil, err
	}
	if err := read("col", func(a *Array) (err error) {
		m.ColIdx, err = decodeIndices(a, len(row), m.Cols)
		return err
	}); err != nil {
		return nil, err
	}
	if err := read("data", func(a *Array) error { return decodeValues(a, m) }); err != nil {
		return nil, err
	}
	m = compress(m, row)
	if err := SortDistinct(m); err != nil {
		return nil, fmt.Errorf("arrays row and col: %w", err)
	}
	return m, nil
}

// compress orders the entries of m, whose rows are given, by row.
func compress(m *graph.CSR, row []int32) *graph.CSR {
	out := &graph.CSR{Rows: m.Rows, Cols: m.Cols, RowPtr: make([]int, m.Rows+1),
		ColIdx: make([]int32, len(row)), Val: make([]float32, len(row))}
	for _, i := range row {
		out.RowPtr[i+1]++
	}
	for i := range m.Rows {
		out.RowPtr[i+1] += out.RowPtr[i]
	}
	next := slices.Clone(out.RowPtr[:m.Rows])
	for k, i := range row {
		out.ColIdx[next[i]], out.Val[next[i]] = m.ColIdx[k], m.Val[k]
		next[i]++
	}
	return out
}

// Elements returns the length of an array of one dimension, -1 for other arrays.
func Elements(a *Array) int {
	if len(a.Shape) == 1 {
		return a.Shape[0]
	}
	return -1
}

func decodeShape(a *Array, m *graph.CSR) error {
	if n := Elements(a); n != 2 {
		return fmt.Errorf("%d values, want rows and columns", max(n, 0))
	}
	return a.Ints(func(k int, v int64) error {
		if err := CheckSize(k, v); err != nil {
			return err
		}
		if k == 0 {
			m.Rows = int(v)
		} else {
			m.Cols = int(v)
		}
		return nil
	})
}

// CheckSize checks rows (k = 0) or columns (1).
func CheckSize(k int, v int64) error {
	if v < 1 || v > math.MaxInt32 {
		return fmt.Errorf("[%d] is %d, outside 1…%d", k, v, math.MaxInt32)
	}
	return nil
}

func decodeRowPtr(a *Array, m *graph.CSR) error {
	if n := Elements(a); n != m.Rows+1 {
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
	if n := Elements(a); n < 0 || n != count {
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
	if n := Elements(a); n != len(m.ColIdx) {
		return fmt.Errorf("shape %v, want as many values as indices, %d", a.Shape, len(m.ColIdx))
	}
	m.Val = make([]float32, len(m.ColIdx))
	return a.Floats(func(k int, v float32) error {
		m.Val[k] = v
		return nil
	})
}

// SortDistinct orders the columns of each row and refuses a column that stands twice in a row.
func SortDistinct(m *graph.CSR) error {
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

// CheckSquare refuses a matrix that is no adjacency matrix. Names of arrays begin with prefix.
func CheckSquare(adj *graph.CSR, prefix string) error {
	if adj.Rows != adj.Cols {
		return fmt.Errorf("array %sshape: %d×%d, want a square matrix", prefix, adj.Rows, adj.Cols)
	}
	for i := range adj.Rows {
		cols, vals := adj.Row(i)
		for p, v := range vals {
			if v == 0 {
				return fmt.Errorf("array %sdata: edge %d–%d has weight 0: leave it out", prefix, i, cols[p])
			}
		}
	}
	return nil
}
