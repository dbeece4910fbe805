package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"rivulet/graph"
)

func random(rng *rand.Rand, rows, cols int) *graph.Dense {
	m := graph.NewDense(rows, cols)
	for i := range m.Data {
		m.Data[i] = float32(rng.NormFloat64())
	}
	return m
}

// views are A and B as they lie in memory, and transposed.
func views(rng *rand.Rand, m, k, n int, ta, tb bool) (a, b View) {
	a, b = Of(random(rng, m, k)), Of(random(rng, k, n))
	if ta {
		a = Of(random(rng, k, m)).T()
	}
	if tb {
		b = Of(random(rng, n, k)).T()
	}
	return a, b
}

func at(v View, i, j int) float64 { return float64(v.Data[i*v.RowStride+j*v.ColStride]) }

// Every shape around the edges of tiles and blocks, against float64.
func TestAddAgainstFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, m := range []int{1, 5, 6, 8, 11, 12, 13, 25} {
		for _, n := range []int{1, 7, 15, 16, 17, 32, 33, 41, 48, 49, 64, 100} {
			for _, k := range []int{1, 2, 255, 256, 257, 600} {
				ta, tb := rng.IntN(2) == 1, rng.IntN(2) == 1
				checkAdd(t, rng, m, k, n, ta, tb)
			}
		}
	}
}

// Products that are split by k, with the longer side of the result in both places.
func TestTallAgainstFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	for _, k := range []int{tall, tall + 1, 5000} {
		for _, shape := range [][2]int{{1, 1}, {50, 7}, {7, 50}, {13, 13}} {
			for _, ta := range []bool{false, true} {
				checkAdd(t, rng, shape[0], k, shape[1], ta, rng.IntN(2) == 1)
			}
		}
	}
}

// checkAdd compares a product that is added to a matrix with the same in float64.
func checkAdd(t *testing.T, rng *rand.Rand, m, k, n int, ta, tb bool) {
	t.Helper()
	a, b := views(rng, m, k, n, ta, tb)
	dst := random(rng, m, n)
	before := dst.Clone()
	alpha := []float32{1, -0.5}[rng.IntN(2)]
	Add(dst, alpha, a, b)
	for i := range m {
		for j := range n {
			want, scale := float64(before.Row(i)[j]), 1.0
			for p := range k {
				x := float64(alpha) * at(a, i, p) * at(b, p, j)
				want, scale = want+x, scale+math.Abs(x)
			}
			if got := float64(dst.Row(i)[j]); math.Abs(got-want) > 1e-6*scale {
				t.Fatalf("%d×%d·%d×%d (transposed %t, %t): element %d, %d is %v, want %v", m, k, k, n, ta, tb, i, j, got, want)
			}
		}
	}
}

// An element has the same bits whatever the number of goroutines.
func TestBitsDoNotDependOnTheSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	const m, k, n = 530, 700, 41
	a, b := views(rng, m, k, n, true, false)
	want := Mul(a, b)
	longA, longB := views(rng, m, tall+700, n, true, false)
	wantLong := Mul(longA, longB)
	old := runtime.GOMAXPROCS(1)
	one, oneLong := Mul(a, b), Mul(longA, longB)
	runtime.GOMAXPROCS(old)
	for i, v := range want.Data {
		if v != one.Data[i] || wantLong.Data[i] != oneLong.Data[i] {
			t.Fatalf("element %d is %v and %v with %d goroutines, %v and %v with one",
				i, v, wantLong.Data[i], old, one.Data[i], oneLong.Data[i])
		}
	}
}

func TestWrongShapesPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Add(graph.NewDense(2, 2), 1, Of(graph.NewDense(2, 3)), Of(graph.NewDense(2, 2)))
}

func ExampleMul() {
	a := &graph.Dense{Rows: 1, Cols: 2, Data: []float32{1, 2}}
	b := &graph.Dense{Rows: 2, Cols: 1, Data: []float32{3, 4}}
	fmt.Println(Mul(Of(a), Of(b)).Data, Mul(Of(a).T(), Of(b).T()).Data)
	// Output: [11] [3 4 6 8]
}
