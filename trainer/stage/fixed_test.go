package stage

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Values up to 1e15 at a billion rows have room: a sum of 2^30 of them is built by doubling, from both signs.
func TestSumOfABillionLargeValues(t *testing.T) {
	scale, err := NewScale(1e15)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{1e15, -1e15, 999999999999999, 0.5, -3e-4} {
		integer, err := scale.Integer(v)
		if err != nil {
			t.Fatal(err)
		}
		var s Sum
		s.Add(integer)
		for range 30 {
			if err := s.Plus(s); err != nil {
				t.Fatal(err)
			}
		}
		want := v * (1 << 30)
		if got := s.Value(scale); math.Abs(got-want) > 1e15/(1<<60)*(1<<30) {
			t.Errorf("2^30 times %g is %g, want %g", v, got, want)
		}
	}
}

func TestSumsDoNotDependOnOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	scale, _ := NewScale(1e15)
	values, exact := make([]float64, 1000), new(big.Float).SetPrec(400)
	for k := range values {
		values[k] = (rng.Float64() - 0.5) * math.Pow(10, float64(rng.IntN(15)))
		exact.Add(exact, big.NewFloat(values[k]))
	}
	var first Sum
	for round := range 5 {
		rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		parts := make([]Sum, 3)
		for k, v := range values {
			n, err := scale.Integer(v)
			if err != nil {
				t.Fatal(err)
			}
			parts[(k+round)%3].Add(n)
		}
		var all Sum
		for _, p := range parts {
			if err := all.Plus(ReadSum(p.Append(nil))); err != nil {
				t.Fatal(err)
			}
		}
		if round == 0 {
			first = all
		}
		if all != first {
			t.Fatalf("sum %v after shuffling, %v before", all, first)
		}
	}
	want, _ := exact.Float64()
	if got := first.Value(scale); math.Abs(got-want) > 1000*scale.Unit() {
		t.Errorf("sum %g, want %g", got, want)
	}
}

func TestOverflowIsAnError(t *testing.T) {
	scale, _ := NewScale(10)
	for _, v := range []float64{11, -11, math.NaN(), math.Inf(1)} {
		if _, err := scale.Integer(v); !errors.Is(err, ErrOverflow) {
			t.Errorf("%g in a column of at most 10: error %v", v, err)
		}
	}
	for _, v := range []float64{math.Inf(1), math.NaN(), -1} {
		if _, err := NewScale(v); !errors.Is(err, ErrOverflow) {
			t.Errorf("a scale for %g: error %v", v, err)
		}
	}
	if _, err := NewScale64(1, 1<<40); !errors.Is(err, ErrOverflow) {
		t.Errorf("a scale for 2^40 terms in 64 bits: error %v", err)
	}
	s := Sum{hi: math.MaxInt64}
	if err := s.Plus(Sum{hi: 1}); !errors.Is(err, ErrOverflow) {
		t.Errorf("a sum of 2^127: error %v", err)
	}
}

// The scale of a hop leaves room for as many terms as were said, and a float32 keeps its bits.
func TestScaleOfAHub(t *testing.T) {
	const terms = 1 << 20
	scale, err := NewScale64(3, terms)
	if err != nil {
		t.Fatal(err)
	}
	n, err := scale.Integer(3)
	if err != nil || n > math.MaxInt64/terms {
		t.Errorf("3 is %d, %d times of which overflow: %v", n, terms, err)
	}
	if v := float64(float32(2.9999)); float64(must(scale.Integer(v)))*scale.Unit() != v {
		t.Errorf("%g does not survive", v)
	}
}

func must(n int64, err error) int64 {
	if err != nil {
		panic(err)
	}
	return n
}
