package quantile

import (
	"math"
	"testing"
	"time"
)

func TestQuantilesAreWithinABin(t *testing.T) {
	var h Histogram
	for i := 1; i <= 1000; i++ {
		h.Add(time.Duration(i) * time.Millisecond)
	}
	for q, want := range map[float64]float64{0.5: 500, 0.99: 990, 0.01: 10, 1: 1000} {
		if got := h.Quantile(q); math.Abs(got-want) > 0.05*want {
			t.Errorf("quantile %g is %g ms, want %g within 5%%", q, got, want)
		}
	}
	var empty *Histogram
	if !math.IsNaN(empty.Quantile(0.5)) {
		t.Error("nothing has a median")
	}
	h.Add(time.Hour)
	h.Add(-time.Second)
	if h.total != 1002 {
		t.Errorf("%d times, want 1002", h.total)
	}
}

func TestOf(t *testing.T) {
	var sorted []time.Duration
	for ms := 1; ms <= 100; ms++ {
		sorted = append(sorted, time.Duration(ms)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := Of(sorted, q); got != want {
			t.Errorf("quantile %g is %g ms, want %g", q, got, want)
		}
	}
	if got := Of(nil, 0.5); got != 0 {
		t.Errorf("without durations %g, want 0", got)
	}
}
