package consumer

import (
	"math"

	"rivulet/event"
	"rivulet/schema"
)

// Measure sums up an arrival's raw features: enough to see when they come to differ from training's.
type Measure struct {
	Norm  float32 // L2
	Count int32   // values that are not 0
	// Named has a number for each of the schema's measures ([schema.Schema.Measures]); nil where there is none.
	Named []float32
}

// measureAll returns the measures of arrivals by their features, and the names of the schema's measures.
func measureAll(features []*event.Features, by *schema.Schema) (out []Measure, names []string) {
	out = make([]Measure, len(features))
	for i, f := range features {
		out[i] = measureOf(f)
	}
	if by == nil {
		return out, nil
	}
	names = by.Measures()
	numbers := make([]float32, len(features)*len(names))
	for i, f := range features {
		width, indices := len(names), f.Indices
		if !f.Sparse {
			indices = nil
		}
		out[i].Named = numbers[i*width : (i+1)*width : (i+1)*width]
		by.Measure(out[i].Named, indices, f.Values)
	}
	return out, names
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
