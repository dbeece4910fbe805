package eval

import (
	"math"
	"slices"
	"testing"

	"rivulet/internal/stats"
)

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
	if !slices.Equal(got.Better, []int{2}) || !slices.Equal(got.Worse, []int{1}) || got.P != stats.McNemar(2, 1) {
		t.Errorf("%+v, want two better and one worse", got)
	}
}

func TestPairsOverSeeds(t *testing.T) {
	row := func(better, worse int) Result {
		return Result{VersusWhole: &Pairing{Better: []int{better}, Worse: []int{worse}, P: stats.McNemar(better, worse)}}
	}
	got := OverSeeds([]Result{row(1, 7), row(2, 9), row(30, 31)})[0].VersusWhole
	if !slices.Equal(got.Better, []int{1, 2, 30}) || !slices.Equal(got.Worse, []int{7, 9, 31}) ||
		math.Abs(got.P-2*stats.McNemar(1, 7)) > 1e-12 || got.Counts() != "11:16" || got.Value() != "0.078" {
		t.Errorf("%+v, %s, %s", got, got.Counts(), got.Value())
	}
	if got := OverSeeds([]Result{row(1, 7), row(1, 7)})[0].VersusWhole; got.P != stats.McNemar(1, 7) {
		t.Errorf("one test with two seeds has p = %v, want %v", got.P, stats.McNemar(1, 7))
	}
	got = OverSeeds([]Result{row(1, 7), {}})[0].VersusWhole
	if got != nil || got.Counts() != "-" || got.Value() != "-" {
		t.Errorf("a comparison of a seed without one: %+v", got)
	}
}
