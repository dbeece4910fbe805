// Package quantile says how long the slowest of many events took: exactly, of durations that were kept, or from a
// histogram of bounded memory.
package quantile

import (
	"math"
	"time"
)

// Of returns the q-quantile of ascending durations in milliseconds: of 100 durations, the 0.99-quantile is the 100th.
// It is 0 where there are no durations.
func Of(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := min(len(sorted)-1, int(q*float64(len(sorted))))
	return float64(sorted[at].Microseconds()) / 1e3
}

// Histogram counts durations in bins of growing width. The zero value is empty, and so is nil for Quantile.
type Histogram struct {
	total int
	bins  [bins]uint32
}

const (
	bins     = 176
	least    = 0.1   // milliseconds: the first bin ends there
	binWidth = 1.085 // each bin ends at so many times the end of the one before: the last begins at two and a half minutes
)

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	ms := max(least, float64(d)/float64(time.Millisecond))
	h.bins[min(bins-1, int(math.Log(ms/least)/math.Log(binWidth)))]++
	h.total++
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	h.total += other.total
	for k, n := range other.bins {
		h.bins[k] += n
	}
}

// Total returns how many durations were counted.
func (h *Histogram) Total() int { return h.total }

// Quantile returns a quantile in milliseconds, at most half a bin (4%) off; NaN where nothing was counted.
func (h *Histogram) Quantile(q float64) float64 {
	if h == nil || h.total == 0 {
		return math.NaN()
	}
	left := int(math.Ceil(q * float64(h.total)))
	for k, n := range h.bins {
		if left -= int(n); left <= 0 {
			return least * math.Pow(binWidth, float64(k)+0.5)
		}
	}
	return math.NaN()
}
