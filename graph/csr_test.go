package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/test/expect"
)

func TestNewCSR(t *testing.T) {
	entries := []Edge{{2, 1, 5}, {0, 3, 1}, {0, 0, 2}, {2, 1, 0.5}, {0, 3, 4}}
	before := slices.Clone(entries)
	got := NewCSR(3, 4, entries)
	want := &CSR{Rows: 3, Cols: 4, RowPtr: []int{0, 2, 2, 3}, ColIdx: []int32{0, 3, 1}, Val: []float32{2, 5, 5.5}}
	expect.Same(t, want, got, "the matrix")
	if diff := cmp.Diff(before, entries); diff != "" {
		t.Errorf("the entries were changed:\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if empty := NewCSR(0, 0, nil); empty.Validate() != nil || empty.NNZ() != 0 {
		t.Errorf("empty matrix: %+v", empty)
	}
}

func TestDropOnes(t *testing.T) {
	m := NewCSR(1, 2, []Edge{{0, 0, 1}, {0, 1, 1}})
	m.DropOnes()
	if _, vals := m.Row(0); m.Val != nil || vals != nil {
		t.Errorf("values %v remain", m.Val)
	}
	m = NewCSR(1, 2, []Edge{{0, 0, 1}, {0, 1, 2}})
	m.DropOnes()
	if m.Val == nil {
		t.Error("values other than 1 were dropped")
	}
}

func TestValidate(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	good := func() *CSR {
		return &CSR{Rows: 2, Cols: 3, RowPtr: []int{0, 1, 3}, ColIdx: []int32{2, 0, 1}, Val: []float32{1, 2, 3}}
	}
	expect.OK(t, good().Validate())
	for name, tc := range map[string]struct {
		spoil func(m *CSR)
		want  string
	}{
		"negative shape":   {func(m *CSR) { m.Cols = -1 }, "shape 2×-1"},
		"pointers missing": {func(m *CSR) { m.RowPtr = m.RowPtr[:2] }, "indptr has 2 values, want rows+1 = 3"},
		"no pointers":      {func(m *CSR) { m.RowPtr = nil }, "indptr has 0 values"},
		"first pointer":    {func(m *CSR) { m.RowPtr[0] = 1 }, "indptr[0] is 1"},
		"last pointer":     {func(m *CSR) { m.RowPtr[2] = 2 }, "indptr[2] is 2, want the number of indices 3"},
		"falling pointers": {func(m *CSR) { m.RowPtr[1] = 4 }, "indptr[2] is 3, below indptr[1] = 4"},
		"negative pointer": {func(m *CSR) { m.RowPtr[1] = -1 }, "indptr[1] is -1, below indptr[0] = 0"},
		"values missing":   {func(m *CSR) { m.Val = m.Val[:1] }, "data has 1 values, indices 3"},
		"column too large": {func(m *CSR) { m.ColIdx[1] = 3 }, "indices[1] is 3, outside 0…2"},
		"negative column":  {func(m *CSR) { m.ColIdx[0] = -1 }, "indices[0] is -1"},
		"not a number":     {func(m *CSR) { m.Val[2] = nan }, "data[2] is NaN"},
		"infinite":         {func(m *CSR) { m.Val[0] = inf }, "data[0] is +Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			m := good()
			tc.spoil(m)
			expect.Error(t, m.Validate(), tc.want)
		})
	}
}

// drawCSR draws a matrix whose rows are unsorted and may have a column twice; with or without values.
func drawCSR(t *rapid.T) *CSR {
	r, c := rapid.IntRange(0, 8).Draw(t, "rows"), rapid.IntRange(1, 8).Draw(t, "cols")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	m := &CSR{Rows: r, Cols: c, RowPtr: make([]int, r+1), ColIdx: []int32{}}
	for i := range r {
		for range rng.IntN(c + 3) {
			m.ColIdx = append(m.ColIdx, int32(rng.IntN(c)))
		}
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	if rapid.Bool().Draw(t, "values") {
		m.Val = make([]float32, len(m.ColIdx))
		for k := range m.Val {
			m.Val[k] = float32(1 + rng.IntN(9)) // sums are exact
		}
	}
	if err := m.Validate(); err != nil {
		t.Fatalf("drawn matrix: %v", err)
	}
	return m
}

func clone(m *CSR) *CSR {
	return &CSR{Rows: m.Rows, Cols: m.Cols, RowPtr: slices.Clone(m.RowPtr), ColIdx: slices.Clone(m.ColIdx),
		Val: slices.Clone(m.Val)}
}

func TestSortRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		want := densify(m)
		pattern := m.Val == nil
		m.SortRows()
		expect.OK(t, m.Validate())
		for i := range m.Rows {
			cols, _ := m.Row(i)
			for k := 1; k < len(cols); k++ {
				if cols[k-1] >= cols[k] {
					t.Fatalf("row %d has columns %v", i, cols)
				}
			}
		}
		if pattern { // a repeated edge is one edge
			for k := range want.Data {
				want.Data[k] = min(want.Data[k], 1)
			}
		}
		if diff := cmp.Diff(want.Data, densify(m).Data); diff != "" || (m.Val == nil) != pattern {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		again := clone(m)
		again.SortRows()
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatalf("sorted twice (-once +twice):\n%s", diff)
		}
	})
}

func TestTranspose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		tr := m.Transpose()
		expect.OK(t, tr.Validate())
		want, got := densify(m), densify(tr)
		if got.Rows != m.Cols || got.Cols != m.Rows {
			t.Fatalf("shape %d×%d", got.Rows, got.Cols)
		}
		for i := range m.Rows {
			for j := range m.Cols {
				if want.Row(i)[j] != got.Row(j)[i] {
					t.Fatalf("(%d, %d) is %v, want %v", j, i, got.Row(j)[i], want.Row(i)[j])
				}
			}
		}
		m.SortRows()
		expect.Same(t, m, m.Transpose().Transpose(), "transposed twice")
	})
}

func TestTake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		rows := []int32{}
		if m.Rows > 0 {
			rows = rapid.SliceOfN(rapid.Int32Range(0, int32(m.Rows-1)), 0, 10).Draw(t, "rows")
		}
		x := densify(m)
		got := m.Take(rows)
		if err := got.Validate(); err != nil || (got.Val == nil) != (m.Val == nil) {
			t.Fatalf("%v, values %v of %v", err, got.Val, m.Val)
		}
		if diff := cmp.Diff(x.Take(rows), densify(got)); diff != "" {
			t.Fatalf("(-dense +sparse):\n%s", diff)
		}
		for _, f := range []Features{{Sparse: m}, {Dense: x}} {
			if part := f.Take(rows); part.Rows() != len(rows) || part.Cols() != m.Cols {
				t.Fatalf("features of %d×%d", part.Rows(), part.Cols())
			}
		}
		for k, i := range rows { // the order of a row is kept
			wantCols, wantVals := m.Row(int(i))
			cols, vals := got.Row(k)
			if !slices.Equal(cols, wantCols) || !slices.Equal(vals, wantVals) || got.RowLen(k) != len(cols) {
				t.Fatalf("row %d: %v %v, want %v %v", k, cols, vals, wantCols, wantVals)
			}
		}
	})
}

func TestSubmatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		rows := []int32{}
		if m.Rows > 0 {
			rows = rapid.SliceOfN(rapid.Int32Range(0, int32(m.Rows-1)), 0, 10).Draw(t, "rows")
		}
		const cols = 5
		index := rapid.SliceOfN(rapid.Int32Range(-1, cols-1), m.Cols, m.Cols).Draw(t, "index")
		got := m.Submatrix(rows, index, cols)
		if err := got.Validate(); err != nil || (got.Val == nil) != (m.Val == nil) {
			t.Fatalf("%v, values %v of %v", err, got.Val, m.Val)
		}
		want := NewDense(len(rows), cols)
		for k, i := range rows {
			for c, v := range densify(m).Row(int(i)) {
				if index[c] >= 0 {
					want.Row(k)[index[c]] += v
				}
			}
		}
		expect.Same(t, want, densify(got), "the matrix")
	})
}

func TestRowSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		x := densify(m)
		for i, got := range m.RowSums() {
			want := float32(0)
			for _, v := range x.Row(i) {
				want += v
			}
			if got != want {
				t.Fatalf("row %d sums to %v, want %v", i, got, want)
			}
		}
	})
}
