package schema

import "math"

// MaxBlocks is how many features have a measure of their own; those after them have one together.
const MaxBlocks = 64

// OtherFeatures names the measure of the features after the first [MaxBlocks].
const OtherFeatures = "(others)"

// block is the positions of a feature, and how one number is made of them.
type block struct {
	from, to int // with the position that says "missing"
	by       byte
}

// What one number is made of a block.
const (
	byValue byte = iota // the first position: of a number, a bool or an age
	byPlace             // the place of what is not 0: of a category
	byNorm              // the L2 norm: of a text, a vector, parts of a time, and the other features
)

// divide divides the positions among measures, and names these.
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

// Measures returns the names of the numbers that [Schema.Measure] makes: the features', and at last [OtherFeatures] where
// there are more than [MaxBlocks]. Not to be written to.
func (s *Schema) Measures() []string { return s.measures }

// Measure sums a row up in one number a feature, enough to see when a stream comes to differ from training: the value of
// a number, a bool or an age, the place of a category, and the L2 norm of anything else. dst has as many numbers as
// there are names of [Schema.Measures]. The row is sparse where it has indices, which ascend; else dense.
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
