package table

import (
	"fmt"
	"math"
	"time"
)

// Trend follows the numbers of a column from row to row, to tell weights of edges from times and row numbers.
type Trend struct {
	n, rises, falls, steps int // rows, and how the next number differs; steps: by one more
	low, high, last        float64
	fractions              bool
}

// See takes the next number.
func (t *Trend) See(v float64) {
	if t.n == 0 {
		t.low, t.high = v, v
	} else {
		switch d := v - t.last; {
		case d < 0:
			t.falls++
		case d > 0:
			t.rises++
		}
		if v-t.last == 1 {
			t.steps++
		}
	}
	t.low, t.high, t.last, t.n = min(t.low, v), max(t.high, v), v, t.n+1
	t.fractions = t.fractions || v != math.Trunc(v)
}

// fewRows is the number of rows below which numbers that rise are no trend.
const fewRows = 20

// Counts reports whether the numbers count the rows.
func (t *Trend) Counts() bool { return t.n >= fewRows && t.steps == t.n-1 && t.low >= 0 && t.low <= 1 }

// NoWeight says why the numbers are hardly weights of edges; empty: they may be.
func (t *Trend) NoWeight() string {
	if t.n == 0 {
		return ""
	}
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"seconds", 1}, {"milliseconds", 1e3}, {"microseconds", 1e6}, {"nanoseconds", 1e9}} {
		from, to := t.low/unit.seconds, t.high/unit.seconds
		const from1985, to2100 = 15 * 365.25 * 86400, 130 * 365.25 * 86400
		if from >= from1985 && to < to2100 {
			year := func(s float64) int { return time.Unix(int64(s), 0).UTC().Year() }
			return fmt.Sprintf("looks like times, %s since 1970 (%d to %d)", unit.name, year(from), year(to))
		}
	}
	switch {
	case !t.fractions && calendar(t.low) && calendar(t.high):
		return fmt.Sprintf("looks like times, dates such as %.0f", t.low)
	case t.Counts():
		return fmt.Sprintf("counts the rows, from %.0f to %.0f", t.low, t.high)
	case t.n >= fewRows && t.falls == 0 && 2*t.rises >= t.n-1:
		return fmt.Sprintf("rises from row to row like a clock, from %.6g to %.6g: it looks like times", t.low, t.high)
	case t.low <= 0:
		return fmt.Sprintf("has numbers from %.6g to %.6g, and a weight is above 0", t.low, t.high)
	}
	return ""
}

// calendar reports whether a number is a date without marks: 20260131.
func calendar(v float64) bool {
	year, month, day := int(v)/10000, int(v)/100%100, int(v)%100
	return year >= 1900 && year < 2100 && month >= 1 && month <= 12 && day >= 1 && day <= 31
}
