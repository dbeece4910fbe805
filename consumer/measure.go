package consumer

import (
	"math"

	"rivulet/event"
)

// Measure is what is remembered of an arrival's raw features: enough to see when they come to differ from training's.
type Measure struct {
	Norm  float32 // L2
	Count int32   // values that are not 0
}

// measure returns the measures of all arrivals of a batch, in order.
func measure(arrivals []*slot) []Measure {
	out := make([]Measure, len(arrivals))
	for i, s := range arrivals {
		out[i] = measureOf(&s.arrival.Features)
	}
	return out
}

func measureOf(f *event.Features) (m Measure) {
	sum := 0.0
	for _, v := range f.Values {
		sum += float64(v) * float64(v)
		if v != 0 {
			m.Count++
		}
	}
	m.Norm = float32(math.Sqrt(sum))
	return m
}
