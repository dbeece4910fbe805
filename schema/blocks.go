package schema

import "math"

// MaxBlocks is the number of features with a measure of their own. The features after them share one measure.
const MaxBlocks = 64

// OtherFeatures names the measure of the features after the first [MaxBlocks].
const OtherFeatures = "(others)"

// block is the range of positions that a feature has in a row, and the rule that sums them up in one number.
type block struct {
	from, to int // including the position that says "missing"
	by       byte
}

// Rules that sum up a block in one number.
const (
	byValue byte = iota // a number, a bool or an age: the value at the first position
	byPlace             // a category: the position that is not 0
	byNorm              // a text, a vector, the parts of a time, the other features: the L2 norm
)

// divide assigns each position to a measure and names the measures.
func (s *Schema) divide() {
	s.blocks, s.measures = nil, nil
	for k := range s.features {
		f := &s.features[k]
		if k == MaxBlocks {
			s.blocks, s.measures = append(s.blocks, block{f.start, s.width, byNorm}), append(s.measures, OtherFeatures)
			return
		}
		b := block{from: f.start, to: f.start + f.Width(), by: byNorm}
		switch f.Kind {
		case KindNumber, KindBool, KindAge:
			b.by = byValue
		case KindCategory:
			b.by = byPlace
		}
		s.blocks, s.measures = append(s.blocks, b), append(s.measures, f.Name)
	}
}

// Measures returns the names of the numbers of [Schema.Measure]: the names of the features and, if there are more
// than [MaxBlocks], [OtherFeatures] at the end. The caller must not change them.
func (s *Schema) Measures() []string { return s.measures }

// Measure sums up a row in one number a feature, which is enough to see that a stream drifts away from the training
// data: the value of a number, a bool or an age, the position of a category, and the L2 norm of anything else. dst
// has one number for each name of [Schema.Measures]. A row with indices, which must ascend, is sparse; a row without
// is dense.
func (s *Schema) Measure(dst []float32, indices []int32, values []float32) {
	clear(dst)
	k := 0
	for p, v := range values {
		if indices != nil {
			p = int(indices[p])
		}
		for k < len(s.blocks)-1 && p >= s.blocks[k].to {
			k++
		}
		switch b := &s.blocks[k]; {
		case b.by == byNorm:
			dst[k] += v * v
		case b.by == byPlace && v != 0:
			dst[k] = float32(p - b.from)
		case b.by == byValue && p == b.from:
			dst[k] = v
		}
	}
	for k := range s.blocks {
		if s.blocks[k].by == byNorm {
			dst[k] = float32(math.Sqrt(float64(dst[k])))
		}
	}
}
