package eval

import (
	"math"
	"math/big"
	"slices"
	"testing"
)

// The examples of Fagerland et al. (2013), 1 against 7 and 6 against 16, and what is equal.
func TestMcNemarOfThePaper(t *testing.T) {
	for _, c := range []struct {
		better, worse int
		want          float64
	}{{1, 7, 0.039}, {7, 1, 0.039}, {6, 16, 0.035}, {0, 0, 1}, {5, 5, 1}} {
		if got := McNemar(c.better, c.worse); math.Abs(got-c.want) > 5e-4 {
			t.Errorf("%d against %d: p is %.4f, want %.3f", c.better, c.worse, got, c.want)
		}
	}
}

// Sums of binomial coefficients in whole numbers.
func TestMcNemarAgainstWholeNumbers(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {0, 4}, {3, 4}, {34, 21}, {12, 60}, {430, 371}, {1200, 1201}} {
		n, least := int64(c[0]+c[1]), int64(min(c[0], c[1]))
		sum := new(big.Int).Binomial(n, least) // once the count itself, and twice each below
		for k := range least {
			sum.Add(sum, new(big.Int).Lsh(new(big.Int).Binomial(n, k), 1))
		}
		want, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
		if got := McNemar(c[0], c[1]); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d against %d: p is %v, want %v", c[0], c[1], got, want)
		}
	}
}

func TestCombined(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 1}, {[]float64{0.03}, 0.03}, {[]float64{0.5, 0.01, 0.02}, 0.04}, {[]float64{0.9, 0.01, 0.8}, 1},
		{[]float64{0.01, 0.2}, 0.4}} {
		if got := Combined(c.values); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestPair(t *testing.T) {
	set := &Set{Labels: [][]int32{{0, 1, 2}, {0, 1, 2}}}
	got := Pair([]int32{0, 1, 0, 0, 0, 0}, []int32{1, 0, 2, 0, 0, 1}, set)
	if !slices.Equal(got.Better, []int{2}) || !slices.Equal(got.Worse, []int{1}) || got.P != McNemar(2, 1) {
		t.Errorf("%+v, want two better and one worse", got)
	}
}

func TestPairsOverSeeds(t *testing.T) {
	row := func(better, worse int) Result {
		return Result{VersusWhole: &Pairing{Better: []int{better}, Worse: []int{worse}, P: McNemar(better, worse)}}
	}
	got := OverSeeds([]Result{row(1, 7), row(2, 9), row(30, 31)})[0].VersusWhole
	if !slices.Equal(got.Better, []int{1, 2, 30}) || !slices.Equal(got.Worse, []int{7, 9, 31}) ||
		math.Abs(got.P-2*McNemar(1, 7)) > 1e-12 || got.Counts() != "11:16" || got.Value() != "0.078" {
		t.Errorf("%+v, %s, %s", got, got.Counts(), got.Value())
	}
	if got := OverSeeds([]Result{row(1, 7), row(1, 7)})[0].VersusWhole; got.P != McNemar(1, 7) {
		t.Errorf("one test with two seeds has p = %v, want %v", got.P, McNemar(1, 7))
	}
	got = OverSeeds([]Result{row(1, 7), {}})[0].VersusWhole
	if got != nil || got.Counts() != "-" || got.Value() != "-" {
		t.Errorf("a comparison of a seed without one: %+v", got)
	}
}
