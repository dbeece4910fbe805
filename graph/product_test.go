package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph/tile"
)

// naive adds one product at a time, in the order of the entries.
func naive(m *CSR, x *Dense) *Dense {
	out := NewDense(m.Rows, x.Cols)
	for i := range m.Rows {
		cols, vals := m.Row(i)
		for p, c := range cols {
			a := float32(1)
			if vals != nil {
				a = vals[p]
			}
			for k, v := range x.Row(int(c)) {
				out.Row(i)[k] = tile.FMA(a, v, out.Row(i)[k])
			}
		}
	}
	return out
}

func sameBits(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want *Dense) {
	t.Helper()
	if got.Rows != want.Rows || got.Cols != want.Cols {
		t.Fatalf("shape %d×%d, want %d×%d", got.Rows, got.Cols, want.Rows, want.Cols)
	}
	for k := range want.Data {
		if math.Float32bits(got.Data[k]) != math.Float32bits(want.Data[k]) {
			t.Fatalf("row %d, column %d is %v, want %v", k/want.Cols, k%want.Cols, got.Data[k], want.Data[k])
		}
	}
}

func TestMulTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t)
		k := rapid.IntRange(0, 20).Draw(t, "k")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "x"), 0))
		x, dst := NewDense(m.Cols, k), NewDense(m.Rows, k)
		for p := range x.Data {
			x.Data[p] = float32(rng.NormFloat64())
		}
		for p := range m.Val {
			m.Val[p] = float32(rng.NormFloat64())
		}
		for p := range dst.Data {
			dst.Data[p] = float32(math.NaN()) // the earlier content does not matter
		}
		MulTo(dst, m, x)
		sameBits(t, dst, naive(m, x))
		sameBits(t, Mul(m, x), dst)
	})
}

// The bits of a large product, computed on several goroutines, equal the bits of a product on one, and of every row
// by itself.
func TestMulToInParallelHasTheSameBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	m, x := spmmCase(15)
	if m.NNZ()*x.Cols < parallelWork {
		t.Fatal("the case is too small to be split")
	}
	got := Mul(m, x)
	sameBits(t, got, naive(m, x))
	for i := range int32(m.Rows) {
		sameBits(t, Mul(m.Take([]int32{i}), x), got.Take([]int32{i}))
	}
	m.Val = nil
	sameBits(t, Mul(m, x), naive(m, x))
}

func TestAddRowsHasTheBitsOfAxpy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float32Range(-10, 10)
		k, n := rapid.IntRange(0, 9).Draw(t, "k"), rapid.IntRange(0, 11).Draw(t, "n")
		x := &Dense{Rows: 3, Cols: k, Data: rapid.SliceOfN(value, 3*k, 3*k).Draw(t, "x")}
		cols := rapid.SliceOfN(rapid.Int32Range(0, 2), n, n).Draw(t, "cols")
		vals := rapid.SliceOfN(value, n, n).Draw(t, "vals")
		y := &Dense{Rows: 1, Cols: k, Data: rapid.SliceOfN(value, k, k).Draw(t, "y")}
		want, ones, wantOnes := y.Clone(), y.Clone(), y.Clone()
		for p, c := range cols {
			Axpy(want.Data, vals[p], x.Row(int(c)))
			Add(wantOnes.Data, x.Row(int(c)))
		}
		AddRows(y.Data, cols, vals, x)
		sameBits(t, y, want)
		AddRows(ones.Data, cols, nil, x)
		sameBits(t, ones, wantOnes)
	})
}

func TestParallelRowsCoversEachRowOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(procs)
		for _, n := range []int{0, 1, 2, 7, 16, 63, 1000} {
			for _, work := range []int{0, parallelWork - 1, parallelWork, 1 << 40} {
				count := make([]int, n)
				var mu sync.Mutex
				ParallelRows(n, work, func(lo, hi int) {
					mu.Lock()
					defer mu.Unlock()
					for i := lo; i < hi; i++ {
						count[i]++
					}
				})
				for i, c := range count {
					if c != 1 {
						t.Fatalf("%d processors, n=%d, work %d: row %d was visited %d times", procs, n, work, i, c)
					}
				}
			}
		}
	}
}

func TestMulDense(t *testing.T) {
	x := &Dense{Rows: 3, Cols: 2, Data: []float32{1, 2, 0, 0, 0, -1}}
	w := &Dense{Rows: 2, Cols: 3, Data: []float32{1, 2, 3, 10, 20, 30}}
	want := []float32{21, 42, 63, 0, 0, 0, -10, -20, -30}
	got := MulDense(x, w)
	if got.Rows != 3 || got.Cols != 3 || !slices.Equal(got.Data, want) {
		t.Errorf("%d×%d %v, want 3×3 %v", got.Rows, got.Cols, got.Data, want)
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "product 3×2 · 3×2") {
			t.Errorf("panic %q, want the shapes", got)
		}
	}()
	MulDense(x, x)
}

// A dense row is added up exactly as the sparse row with the same non-zeros, and the memory can be reused for the
// next row.
func TestNonZeros(t *testing.T) {
	z := NewNonZeros(4)
	for _, tc := range []struct {
		x    []float32
		cols []int32
		vals []float32
	}{
		{[]float32{0, 5, 0, -3}, []int32{1, 3}, []float32{5, -3}},
		{[]float32{1, 2, 3, 4}, []int32{0, 1, 2, 3}, []float32{1, 2, 3, 4}},
		{[]float32{0, 0, 0, 0}, []int32{}, []float32{}},
		{[]float32{7, 0}, []int32{0}, []float32{7}},
	} {
		z.Set(tc.x)
		if !slices.Equal(z.Cols, tc.cols) || !slices.Equal(z.Vals, tc.vals) {
			t.Errorf("%v: columns %v, values %v", tc.x, z.Cols, z.Vals)
		}
	}
}

// The leading columns of a product can be computed without the others.
func TestAddRowsOfLeadingColumns(t *testing.T) {
	x := &Dense{Rows: 5, Cols: 3, Data: []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
	cols, vals := []int32{0, 1, 2, 3, 4}, []float32{1, 1, 1, 1, 2}
	y := []float32{100, 0}
	AddRows(y, cols, vals, x)
	if want := []float32{148, 54}; !slices.Equal(y, want) {
		t.Errorf("%v, want %v", y, want)
	}
}

// A dense product has the same bits as the non-zeros added up row by row, whatever its shape and how many zeros it has.
func TestAddProductIsAddRowsBitForBit(t *testing.T) { checkAddProduct(t) }

func checkAddProduct(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	for _, shape := range [][3]int{{1, 1, 1}, {3, 5, 7}, {4, 9, 16}, {5, 200, 17}, {9, 31, 41}, {13, 700, 48},
		{8, 20, 130}, {6, 0, 3}} {
		for _, zeros := range []float64{0, 0.1, 0.9} {
			x, w := NewDense(shape[0], shape[1]), NewDense(shape[1], shape[2])
			for k := range x.Data {
				if x.Data[k] = float32(rng.NormFloat64()); rng.Float64() < zeros {
					x.Data[k] = 0
				}
			}
			for k := range w.Data {
				w.Data[k] = float32(rng.NormFloat64())
			}
			got, want := NewDense(shape[0]+2, shape[2]), NewDense(shape[0]+2, shape[2])
			for k := range got.Data {
				got.Data[k] = float32(rng.NormFloat64())
			}
			copy(want.Data, got.Data)
			wide := w.Aligned()
			rows := &Dense{Rows: shape[0], Cols: shape[2], Data: got.Data[:shape[0]*shape[2]]}
			AddProduct(rows, x, wide, min(1, shape[0]-1), shape[0])
			nz := NewNonZeros(shape[1])
			for i := min(1, shape[0]-1); i < shape[0]; i++ {
				nz.Set(x.Row(i))
				for p, c := range nz.Cols {
					Axpy(want.Row(i), nz.Vals[p], w.Row(int(c)))
				}
			}
			for k := range want.Data {
				if math.Float32bits(got.Data[k]) != math.Float32bits(want.Data[k]) {
					t.Fatalf("%v, %v zeros: element %d is %v, want %v", shape, zeros, k, got.Data[k], want.Data[k])
				}
			}
		}
	}
}

// The row-stable products against float64: n additions of products, each rounded twice, are off by at most 2n·2⁻²⁴ of
// the sum of magnitudes.
func TestProductsAgainstFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, shape := range [][3]int{{1, 3, 1}, {5, 602, 7}, {6, 300, 41}, {9, 64, 130}} {
		x, w := NewDense(shape[0], shape[1]), NewDense(shape[1], shape[2])
		var entries []Edge
		for k := range x.Data {
			if rng.IntN(3) > 0 {
				x.Data[k] = float32(rng.NormFloat64())
				entries = append(entries, Edge{Row: int32(k / x.Cols), Col: int32(k % x.Cols), Val: x.Data[k]})
			}
		}
		for k := range w.Data {
			w.Data[k] = float32(rng.NormFloat64())
		}
		got := MulDense(x, w)
		sameBits(t, Mul(NewCSR(x.Rows, x.Cols, entries), w), got)
		for i := range got.Rows {
			for j := range got.Cols {
				want, scale := 0.0, 0.0
				for k, v := range x.Row(i) {
					p := float64(v) * float64(w.Row(k)[j])
					want, scale = want+p, scale+math.Abs(p)
				}
				if v := float64(got.Row(i)[j]); math.Abs(v-want) > float64(2*x.Cols)/(1<<24)*scale {
					t.Fatalf("%v: element %d, %d is %v, want %v", shape, i, j, v, want)
				}
			}
		}
	}
}
