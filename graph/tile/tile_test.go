package tile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func random(rng *rand.Rand, r, c int, transposed bool) View {
	v := View{Rows: r, Cols: c, RowStride: c + rng.IntN(3), ColStride: 1}
	if transposed {
		v.RowStride, v.ColStride = 1, r+rng.IntN(3)
	}
	v.Data = make([]float32, r*v.RowStride+c*v.ColStride)
	for k := range v.Data {
		v.Data[k] = float32(rng.NormFloat64())
	}
	return v
}

func (v View) at(i, j int) float32 { return v.Data[i*v.RowStride+j*v.ColStride] }

// want is C + α·A·B for rows lo to hi, one value after the other: a chain, or sums of blocks.
func want(c []float32, stride int, alpha float32, a, b View, lo, hi int, chain bool) []float32 {
	out := append([]float32(nil), c...)
	for i := lo; i < hi; i++ {
		for j := range b.Cols {
			at := &out[i*stride+j]
			for from := 0; from < a.Cols; from += Depth {
				sum := float32(0)
				if chain {
					sum = *at
				}
				for k := from; k < min(from+Depth, a.Cols); k++ {
					sum = FMA(a.at(i, k), alpha*b.at(k, j), sum)
				}
				if !chain {
					sum += *at
				}
				*at = sum
			}
		}
	}
	return out
}

// Every kernel gives the bits of a plain loop, for shapes around the edges of tiles and blocks, any part of the rows
// and matrices that lie in memory transposed, and writes nothing beside.
func TestKernelsAreAPlainLoop(t *testing.T) {
	for _, use := range kernels() {
		t.Run(fmt.Sprintf("%dx%d", use.rows, use.cols), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(use.cols)))
			for range 150 {
				m, k, n := 1+rng.IntN(30), 1+rng.IntN(40), 1+rng.IntN(70)
				switch rng.IntN(5) {
				case 0:
					k = Depth - 1 + rng.IntN(3)
				case 1:
					m = blockRows - 1 + rng.IntN(blockRows)
				}
				checkProduct(t, rng, use, m, k, n)
			}
			checkProduct(t, rng, use, 2*blockRows+5, 2*Depth+100, 300) // B is packed in several steps
		})
	}
}

func checkProduct(t *testing.T, rng *rand.Rand, use kernel, m, k, n int) {
	t.Helper()
	a, b := random(rng, m, k, rng.IntN(2) == 0), random(rng, k, n, rng.IntN(2) == 0)
	p := product{kernel: use, stride: n + rng.IntN(3), alpha: 1, a: a, b: b, onward: rng.IntN(2) == 0}
	p.lo = rng.IntN(m)
	p.hi = p.lo + 1 + rng.IntN(m-p.lo)
	if !p.onward {
		p.alpha = -0.5
	}
	p.c = make([]float32, m*p.stride)
	for k := range p.c {
		p.c[k] = float32(rng.NormFloat64())
	}
	want := want(p.c, p.stride, p.alpha, a, b, p.lo, p.hi, p.onward)
	p.run()
	for at, v := range p.c {
		if math.Float32bits(v) != math.Float32bits(want[at]) {
			t.Fatalf("%d×%d·%d×%d, rows %d to %d, chain %t: row %d, column %d is %v, want %v", m, k, k, n, p.lo, p.hi,
				p.onward, at/p.stride, at%p.stride, v, want[at])
		}
	}
}

// Memory that is too short for a view is refused before a kernel reads it.
func TestShortMemoryPanics(t *testing.T) {
	long := func(r, c int) View {
		return View{Rows: r, Cols: c, RowStride: c, ColStride: 1, Data: make([]float32, r*c)}
	}
	short := func(v View) View { v.Data = v.Data[1:]; return v }
	for name, of := range map[string]func(){
		"A": func() { Chain(make([]float32, 6), 2, short(long(3, 4)), long(4, 2), 0, 3) },
		"B": func() { Chain(make([]float32, 6), 2, long(3, 4), short(long(4, 2)), 0, 3) },
		"C": func() { Chain(make([]float32, 5), 2, long(3, 4), long(4, 2), 0, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			of()
		})
	}
}
