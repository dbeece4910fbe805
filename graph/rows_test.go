package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The vector kernels give the same bits as one Axpy a row, for every width and number of rows, and touch nothing else.
func TestAddRowsIsAxpyBitForBit(t *testing.T) { checkAddRows(t) }

func checkAddRows(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	for width := range 140 {
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 33} {
			x := NewDense(9, width+rng.IntN(3))
			for k := range x.Data {
				x.Data[k] = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(9)-4)))
			}
			cols, vals := make([]int32, n), make([]float32, n)
			for p := range cols {
				cols[p], vals[p] = int32(rng.IntN(9)), float32(rng.NormFloat64())
			}
			room := make([]float32, width+2)
			for k := range room {
				room[k] = float32(rng.NormFloat64())
			}
			for _, factors := range [][]float32{vals, nil} {
				got, want := slices.Clone(room), slices.Clone(room)
				AddRows(got[1:width+1], cols, factors, x)
				for p, c := range cols {
					a := float32(1)
					if factors != nil {
						a = factors[p]
					}
					Axpy(want[1:width+1], a, x.Row(int(c))[:width])
				}
				for k := range want {
					if math.Float32bits(got[k]) != math.Float32bits(want[k]) {
						t.Fatalf("%d rows of width %d: element %d is %v, want %v", n, width, k-1, got[k], want[k])
					}
				}
			}
		}
	}
}

func TestAddRowsRefusesRowsThatAreNotThere(t *testing.T) {
	for _, c := range []int32{-1, 3} {
		for _, width := range []int{5, 40} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("row %d of 3, width %d: no panic", c, width)
					}
				}()
				AddRows(make([]float32, width), []int32{0, c}, []float32{1, 1}, NewDense(3, width))
			}()
		}
	}
}
