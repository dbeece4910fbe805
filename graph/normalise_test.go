package graph

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"rivulet/test/reference"
)

// Â(B) against the oracle's, on symmetric graphs with weights and without, isolated nodes included.
func TestSection1Normalised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		weights := rapid.SliceOfN(rapid.Float32Range(0, 3), n*n, n*n).Draw(t, "weights")
		pattern := rapid.Bool().Draw(t, "pattern")
		var entries []Edge
		dense := reference.New(n, n)
		for i := range n {
			for j := range i {
				v := weights[i*n+j] - 1 // a third are no edge
				if v <= 0 {
					continue
				}
				if pattern {
					v = 1
				}
				entries = append(entries, Edge{int32(i), int32(j), v}, Edge{int32(j), int32(i), v})
				dense[i][j], dense[j][i] = float64(v), float64(v)
			}
		}
		adj := NewCSR(n, n, entries)
		if pattern {
			adj.Val = nil
		}
		got, want := Normalised(adj), reference.AHat(dense)
		if err := got.Validate(); err != nil || got.NNZ() != len(entries)+n {
			t.Fatalf("%v, %d entries", err, got.NNZ())
		}
		for i := range n {
			cols, vals := got.Row(i)
			for p, c := range cols {
				if p > 0 && cols[p-1] >= c {
					t.Fatalf("row %d has columns %v", i, cols)
				}
				if math.Abs(float64(vals[p])-want[i][c]) > 1e-6 {
					t.Fatalf("(%d, %d) is %v, want %v", i, c, vals[p], want[i][c])
				}
			}
		}
	})
}
