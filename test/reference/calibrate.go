package reference

import "math"

// Softmax returns softmax(logits/temperature).
func Softmax(logits []float64, temperature float64) []float64 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, v)
	}
	p := Each(logits, func(v float64) float64 { return math.Exp((v - top) / temperature) })
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	return Each(p, func(v float64) float64 { return v / sum })
}

// CrossEntropy returns −log of the softmax of y, also where that is too small for a float64.
func CrossEntropy(logits []float64, y int) float64 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(v - top)
	}
	return math.Log(sum) + top - logits[y]
}
