package table

import (
	"strings"
	"testing"
)

// Times of any unit, dates, clocks, row numbers and numbers that are not above 0 are told from weights.
func TestTrend(t *testing.T) {
	at := func(i int) float64 { return 1082040961 + float64(i*7919%100000) }
	for _, c := range []struct {
		name  string
		value func(i int) float64
		want  string // in NoWeight; empty: weights
	}{
		{"seconds", at, "seconds since 1970 (2004"},
		{"seconds with fractions", func(i int) float64 { return at(i) + 0.25 }, "seconds since 1970"},
		{"milliseconds", func(i int) float64 { return at(i) * 1e3 }, "milliseconds since 1970"},
		{"microseconds", func(i int) float64 { return at(i) * 1e6 }, "microseconds since 1970"},
		{"nanoseconds", func(i int) float64 { return at(i) * 1e9 }, "nanoseconds since 1970"},
		{"dates", func(i int) float64 { return 20240101 + float64(i%12*100+i*7%28) }, "dates such as 2024"},
		{"a clock", func(i int) float64 { return float64(i*37) + 0.5 }, "rises from row to row like a clock"},
		{"row numbers", func(i int) float64 { return float64(i) }, "counts the rows"},
		{"row numbers from 1", func(i int) float64 { return float64(i + 1) }, "counts the rows"},
		{"trust", func(i int) float64 { return float64(i*7%21 - 10) }, "a weight is above 0"},
		{"ratings", func(i int) float64 { return float64(1 + i*7%5) }, ""},
		{"amounts", func(i int) float64 { return 0.01 + float64(i*7919%5000) }, ""},
		{"weights in order", func(i int) float64 { return float64(1 + i/20) }, ""},
		{"years", func(i int) float64 { return float64(1990 + i*7%30) }, ""},
	} {
		var of Trend
		for i := range 100 {
			of.See(c.value(i))
		}
		if got := of.NoWeight(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	var few Trend
	for i := range 5 {
		few.See(float64(1 + i))
	}
	if why := few.NoWeight(); why != "" {
		t.Errorf("five numbers that rise: %q", why)
	}
}

func TestSeveralLabels(t *testing.T) {
	for mark, values := range map[string][]string{
		"|":   {"War", "War|Drama", "Drama"},
		",":   {"Action, Comedy", "Comedy, War", "Action"},
		";":   {"Person;Gold", "Person"},
		"::":  {"a::b", "b"},
		"/":   {"Action/Comedy", "Comedy"},
		" & ": {"Action & Comedy", "Comedy"},
		" + ": {"Action + Comedy", "Comedy"},
		"":    {"Theory", "Computers, Office", "Garden", "Toys", "Food"},
	} {
		if got, _ := SeveralLabels(values); got != mark {
			t.Errorf("%q: %q, want %q", values, got, mark)
		}
	}
}
