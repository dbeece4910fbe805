package graph

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDense(t *testing.T) {
	m := &Dense{Rows: 2, Cols: 2, Data: []float32{1, 2, 3, 4}}
	c := m.Clone()
	c.Row(1)[0] = 9
	if m.Row(1)[0] != 3 {
		t.Error("a clone shares memory")
	}
	if row := append(m.Row(0), 7); m.Data[2] != 3 || len(row) != 3 {
		t.Error("appending to a row writes into the next")
	}
	if diff := cmp.Diff(&Dense{Rows: 3, Cols: 2, Data: []float32{3, 4, 1, 2, 3, 4}},
		m.Take([]int32{1, 0, 1})); diff != "" {
		t.Errorf("take (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Dense{Rows: 2, Cols: 3, Data: []float32{1, 3, 5, 2, 4, 6}},
		(&Dense{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6}}).Transposed()); diff != "" {
		t.Errorf("transposed (-want +got):\n%s", diff)
	}
}

// A wrong shape is a programming error; the panic says which shapes met.
func TestMisusePanics(t *testing.T) {
	m := NewCSR(2, 3, []Edge{{0, 1, 1}})
	for name, tc := range map[string]struct {
		f    func()
		want string
	}{
		"inner":           {func() { Mul(m, NewDense(4, 2)) }, "2×3 · 4×2 into 2×2"},
		"rows":            {func() { MulTo(NewDense(3, 2), m, NewDense(3, 2)) }, "2×3 · 3×2 into 3×2"},
		"columns":         {func() { MulTo(NewDense(2, 1), m, NewDense(3, 2)) }, "2×3 · 3×2 into 2×1"},
		"negative dense":  {func() { NewDense(-1, 2) }, "-1×2"},
		"row of an entry": {func() { NewCSR(2, 3, []Edge{{Row: 2}}) }, "entry (2, 0) in a matrix of 2×3"},
		"column":          {func() { NewCSR(2, 3, []Edge{{Col: 3}}) }, "entry (0, 3) in a matrix of 2×3"},
		"negative column": {func() { NewCSR(2, 3, []Edge{{Col: -1}}) }, "entry (0, -1) in a matrix of 2×3"},
		"index":           {func() { m.Submatrix(nil, []int32{0, 1}, 2) }, "index of 2 for the columns of 2×3"},
		"index value":     {func() { m.Submatrix(nil, []int32{0, 1, 2}, 2) }, "index[2] is 2 in a matrix of 2 columns"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, tc.want) {
					t.Errorf("panic %q, want one with %q", got, tc.want)
				}
			}()
			tc.f()
		})
	}
}

func TestAligned(t *testing.T) {
	for cols, width := range map[int]int{0: 0, 1: 1, 2: 2, 3: 4, 5: 8, 8: 8, 9: 16, 41: 48} {
		m := NewDense(3, cols)
		for k := range m.Data {
			m.Data[k] = float32(k + 1)
		}
		got := m.Aligned()
		if got.Rows != 3 || got.Cols != width {
			t.Fatalf("%d columns become %d×%d, want 3×%d", cols, got.Rows, got.Cols, width)
		}
		for i := range 3 {
			for k, v := range got.Row(i) {
				if want := float32(i*cols + k + 1); (k < cols && v != want) || (k >= cols && v != 0) {
					t.Errorf("%d columns, row %d: %v", cols, i, got.Row(i))
				}
			}
		}
	}
}

func TestColumns(t *testing.T) {
	m := &Dense{Rows: 2, Cols: 3, Data: []float32{1, 2, 3, 4, 5, 6}}
	if got := m.Columns(1, 3); got.Rows != 2 || got.Cols != 2 || !slices.Equal(got.Data, []float32{2, 3, 5, 6}) {
		t.Errorf("%+v", got)
	}
	if got := m.Columns(2, 2); got.Rows != 2 || got.Cols != 0 || len(got.Data) != 0 {
		t.Errorf("no columns: %+v", got)
	}
	m.Columns(0, 1).Data[0] = 9
	if m.Data[0] != 1 {
		t.Error("columns are not a copy")
	}
}
