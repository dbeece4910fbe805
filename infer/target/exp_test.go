package target

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Exponentials are those of package math, rounded to float32; one in many millions may be halfway between two float32.
func TestExponentials(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	row := make([]float32, 1000)
	different := 0
	for range 1000 {
		for c := range row {
			row[c] = 3 - float32(math.Exp(8*rng.Float64()-3.5))
		}
		top := slices.Max(row)
		want, sum := make([]float32, len(row)), float32(0)
		for c, v := range row {
			want[c] = float32(math.Exp(float64(v - top)))
			sum += want[c]
		}
		got := exponentials(row, top)
		for c := range row {
			if row[c] != want[c] {
				different++
				if away := math.Abs(float64(row[c]-want[c])) / float64(want[c]); away > 1.2e-7 {
					t.Fatalf("%v, want %v", row[c], want[c])
				}
			}
		}
		if math.Abs(float64(got-sum)) > 1e-6*float64(sum) {
			t.Fatalf("the sum is %v, want %v", got, sum)
		}
	}
	if different > 1 {
		t.Errorf("%d of a million differ from package math's, want 1 at most", different)
	}
}

func TestExponentialsAtTheEnds(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range []float32{0, float32(math.Copysign(0, -1)), -1e-45, -1e-8, -math.Ln2, -86, -87.4, -90, -103, -103.9,
		-104, -110, -110.001, -1e30, -inf, nan} {
		row := []float32{v}
		exponentials(row, 0)
		if want := float32(math.Exp(float64(v))); math.Float32bits(row[0]) != math.Float32bits(want) {
			t.Errorf("e^%v is %v, want %v", v, row[0], want)
		}
	}
	row := []float32{inf, 1}
	if exponentials(row, inf); !math.IsNaN(float64(row[0])) {
		t.Errorf("e^(∞−∞) is %v, want none", row[0])
	}
}

func BenchmarkExponentials(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	from, row := make([]float32, 41), make([]float32, 41)
	for c := range from {
		from[c] = -float32(20 * rng.Float64())
	}
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			copy(row, from)
			exponentials(row, 0)
		}
	})
	b.Run("math", func(b *testing.B) {
		for b.Loop() {
			sum := float32(0)
			for c, v := range from {
				row[c] = float32(math.Exp(float64(v)))
				sum += row[c]
			}
		}
	})
}
