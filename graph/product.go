package graph

import (
	"fmt"
	"runtime"
	"sync"
)

// MulTo sets dst = m·x, shapes r×c · c×k → r×k. dst must not share memory with x. Large products are split by rows over
// the processors; the result does not depend on the split.
func MulTo(dst *Dense, m *CSR, x *Dense) {
	if m.Cols != x.Rows || dst.Rows != m.Rows || dst.Cols != x.Cols {
		panic(fmt.Sprintf("graph: product %d×%d · %d×%d into %d×%d", m.Rows, m.Cols, x.Rows, x.Cols, dst.Rows, dst.Cols))
	}
	ParallelRows(m.Rows, m.NNZ()*x.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out := dst.Row(i)
			clear(out)
			cols, vals := m.Row(i)
			if vals == nil {
				for _, c := range cols {
					Add(out, x.Row(int(c)))
				}
				continue
			}
			for p, c := range cols {
				Axpy(out, vals[p], x.Row(int(c)))
			}
		}
	})
}

// Mul returns m·x.
func Mul(m *CSR, x *Dense) *Dense {
	dst := NewDense(m.Rows, x.Cols)
	MulTo(dst, m, x)
	return dst
}

// Axpy adds a·x to y, element by element in order.
func Axpy(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += a * x[i]
	}
}

// Add adds x to y.
func Add(y, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += x[i]
	}
}

// parallelWork is the number of multiply-adds below which one goroutine is faster than several.
const parallelWork = 1 << 16

// ParallelRows calls f on disjoint ranges that cover 0…n, on several goroutines where work (multiply-adds in all) is
// worth it, and waits for them.
func ParallelRows(n, work int, f func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers < 2 || work < parallelWork {
		f(0, n)
		return
	}
	// More pieces than workers, so that rows of uneven length even out.
	pieces := min(n, workers*8)
	next := make(chan int, pieces)
	for p := range pieces {
		next <- p
	}
	close(next)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for p := range next {
				f(p*n/pieces, (p+1)*n/pieces)
			}
		})
	}
	wg.Wait()
}
