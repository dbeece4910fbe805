package gemm

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"rivulet/graph"
	"rivulet/graph/gemm/peak"
)

// shapes are products C = A·B, A m×k in memory or transposed, B k×n: an SGC's product and adjoint on a graph of
// Reddit's shape, a hidden layer's, few classes, k-means' distances, tables of a small S, one that fits the caches.
// tools/peer/gemm.py has the same list.
var shapes = []struct {
	name    string
	m, k, n int
	ta, tb  bool
}{
	{"sgc-product", 153431, 602, 41, false, false},
	{"sgc-adjoint", 602, 153431, 41, true, false},
	{"classes7-product", 44625, 500, 7, false, false},
	{"classes7-adjoint", 500, 44625, 7, true, false},
	{"hidden-product", 40000, 602, 256, false, false},
	{"hidden-adjoint", 602, 40000, 256, true, false},
	{"hidden-back", 40000, 41, 256, false, true},
	{"distances", 1024, 602, 154, false, true},
	{"small", 154, 602, 41, false, false},
	{"square", 1024, 1024, 1024, false, false},
}

// BenchmarkKernels prints what the processor can do with its registers alone (peak), and of each shape what the
// fast kernel does, package graph's row-stable one, and gonum's;
// GFLOP/core-s counts the CPU seconds of this process, which are steadier than the clock on a busy machine.
// %-of-peak is of these. The arguments are the same for all; B of the row-stable product lies in memory.
func BenchmarkKernels(b *testing.B) {
	best := measure(b, "peak", 0, func() float64 {
		var wg sync.WaitGroup
		const rounds = 1 << 20
		flops := 0
		for p := range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				n := peak.Run(rounds)
				if p == 0 {
					flops = n
				}
			})
		}
		wg.Wait()
		return float64(flops) * rounds * float64(runtime.GOMAXPROCS(0))
	})
	rng := rand.New(rand.NewPCG(3, 0))
	for _, s := range shapes {
		x, y := operand(rng, s.m, s.k, s.ta), operand(rng, s.k, s.n, s.tb)
		dst := graph.NewDense(s.m, s.n)
		flops := 2 * float64(s.m) * float64(s.k) * float64(s.n)
		measure(b, s.name+"/fast", best, func() float64 {
			Add(dst, 1, x, y)
			return flops
		})
		if !s.ta && !s.tb {
			of, by := dense(x), dense(y)
			measure(b, s.name+"/row-stable", best, func() float64 {
				graph.ParallelRows(s.m, s.m*s.k*s.n, func(lo, hi int) { graph.AddProduct(dst, of, by, lo, hi) })
				return flops
			})
		}
		measure(b, s.name+"/gonum", best, func() float64 {
			blas32.Gemm(tran(s.ta), tran(s.tb), 1, general(x, s.ta), general(y, s.tb), 1,
				blas32.General{Rows: s.m, Cols: s.n, Stride: s.n, Data: dst.Data})
			return flops
		})
	}
}

// measure runs f, which returns its floating-point operations, and returns how many a core-second they are.
func measure(b *testing.B, name string, best float64, f func() float64) (rate float64) {
	b.Run(name, func(b *testing.B) {
		work, before := 0.0, cpuSeconds()
		for b.Loop() {
			work += f()
		}
		if work == 0 {
			b.Skip("no vectors")
		}
		b.ReportMetric(work/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		if used := cpuSeconds() - before; used > 0 {
			rate = work / used / 1e9
			b.ReportMetric(rate, "GFLOP/core-s")
		}
		if best > 0 {
			b.ReportMetric(100*rate/best, "%-of-peak")
		}
	})
	return rate
}

// operand is an r×c matrix with values of a cheap generator: some have a hundred million.
func operand(rng *rand.Rand, r, c int, transposed bool) View {
	m := graph.NewDense(r, c)
	if transposed {
		m.Rows, m.Cols = c, r
	}
	state := rng.Uint32() | 1
	for i := range m.Data {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		m.Data[i] = float32(int32(state)) / (1 << 31)
	}
	if transposed {
		return Of(m).T()
	}
	return Of(m)
}

func dense(v View) *graph.Dense { return &graph.Dense{Rows: v.Rows, Cols: v.Cols, Data: v.Data} }

func tran(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

func general(v View, t bool) blas32.General {
	if t {
		v = v.T()
	}
	return blas32.General{Rows: v.Rows, Cols: v.Cols, Stride: v.RowStride, Data: v.Data}
}
