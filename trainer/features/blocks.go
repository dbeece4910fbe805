package features

import (
	"math"

	"rivulet/graph"
	"rivulet/schema"
)

// blockDeviations sets the deviations by which the positions of a schema are divided. A number, an age and a part of
// a time have their own. A category or a text has one for all of its positions, the root of the sum of their
// variances, and a vector the root of their mean: a rare category, whose own deviation is tiny, would else be larger
// than all other features together. A bool and a position that says "missing" stay as they are.
func blockDeviations(std []float32, variance []float64, s *schema.Schema) {
	for k := range s.Features() {
		f := &s.Features()[k]
		lo, hi := f.Start(), f.Start()+f.Width()
		if f.Missing == schema.RuleColumn {
			hi--
			std[hi] = 1
		}
		sum := 0.0
		for _, v := range variance[lo:hi] {
			sum += v
		}
		switch f.Kind {
		case schema.KindBool:
			sum = 1
		case schema.KindCategory, schema.KindText:
		case schema.KindVector:
			sum /= float64(hi - lo)
		default:
			continue
		}
		if sum == 0 {
			sum = 1
		}
		for p := lo; p < hi; p++ {
			std[p] = float32(math.Sqrt(sum))
		}
	}
}

// ownVariances replaces the variances of features that nodes of one type have by those among these nodes, so that a
// feature of a rare type is as large as one of a frequent type.
func ownVariances(variance []float64, x graph.Features, s *schema.Schema) {
	nodes := map[string][]int32{}
	for k := range s.Features() {
		if f := &s.Features()[k]; f.Arriving != nil {
			for i := range x.Rows() {
				x.Each(i, func(c int, v float32) {
					if at := c - f.Start(); at >= 0 && at < len(f.Categories) && v != 0 {
						nodes[f.Categories[at]] = append(nodes[f.Categories[at]], int32(i))
					}
				})
			}
		}
	}
	own := map[string][]float64{}
	for name, of := range nodes {
		_, own[name] = variances(x.Take(of))
	}
	for k := range s.Features() {
		f := &s.Features()[k]
		if of := own[f.Of]; of != nil {
			copy(variance[f.Start():f.Start()+f.Width()], of[f.Start():])
		}
	}
}
