package page

import (
	"math"
	"time"

	"rivulet/internal/quantile"
)

// span is the number of seconds that are kept.
const span = 900

// series holds figures by the second, of the last span of them.
type series struct {
	seconds [span]second
}

// second is one second of the stream.
type second struct {
	unix       int64               // the second; 0: none yet
	rates      [3]float32          // arrivals, predictions and dead letters a second; NaN: not known
	latencies  *quantile.Histogram // of the sampled predictions; nil: none
	samples    int                 // how many these are
	confidence float64             // the sum of their probabilities
}

// at returns the second of a time, nil where that is too old or in the future.
func (s *series) at(t, now time.Time) *second {
	unix := t.Unix()
	if unix > now.Unix() || unix <= now.Unix()-span {
		return nil
	}
	b := &s.seconds[unix%span]
	if b.unix != unix {
		unknown := float32(math.NaN())
		*b = second{unix: unix, rates: [3]float32{unknown, unknown, unknown}}
	}
	return b
}

// Columns are the series as the page draws it, oldest second first. Unknown values are null.
type Columns struct {
	Time       []int64    `json:"time"` // seconds since 1970
	In         []*float32 `json:"in"`   // a second
	Out        []*float32 `json:"out"`
	Dead       []*float32 `json:"dead"`
	P50        []*float32 `json:"p50"` // milliseconds
	P99        []*float32 `json:"p99"`
	Confidence []*float32 `json:"confidence"`
	Samples    []int      `json:"samples"`
}

// columns returns the seconds after one, up to the last that is over.
func (s *series) columns(after int64, now time.Time) (c Columns) {
	c = Columns{Time: []int64{}}
	first := max(after+1, now.Unix()-span+1)
	for unix := first; unix < now.Unix(); unix++ {
		c.Time = append(c.Time, unix)
		b := &s.seconds[unix%span]
		if b.unix != unix {
			b = &second{rates: [3]float32{float32(math.NaN()), float32(math.NaN()), float32(math.NaN())}}
		}
		c.In = append(c.In, known(float64(b.rates[0])))
		c.Out = append(c.Out, known(float64(b.rates[1])))
		c.Dead = append(c.Dead, known(float64(b.rates[2])))
		c.P50 = append(c.P50, known(b.latencies.Quantile(0.5)))
		c.P99 = append(c.P99, known(b.latencies.Quantile(0.99)))
		c.Confidence = append(c.Confidence, known(b.confidence/float64(b.samples)))
		c.Samples = append(c.Samples, b.samples)
	}
	return c
}

// recent returns the latencies of the last seconds together.
func (s *series) recent(seconds int64, now time.Time) (h quantile.Histogram) {
	for k := range s.seconds {
		if b := &s.seconds[k]; b.latencies != nil && b.unix > now.Unix()-seconds {
			h.Merge(b.latencies)
		}
	}
	return h
}

// known returns a number that JSON has, nil for NaN.
func known(x float64) *float32 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	y := float32(x)
	return &y
}
