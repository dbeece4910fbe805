package reference

import "math"

// Softmax returns softmax(logits/temperature).
func Softmax(logits []float64, temperature float64) []float64 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, v)
	}
	p := each(logits, func(v float64) float64 { return math.Exp((v - top) / temperature) })
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	return each(p, func(v float64) float64 { return v / sum })
}

// Probabilities are what is published (section 6): s = softmax(logits/τ) + γ·F, negatives clipped, rows normalised. f is
// nil where nothing is mixed in.
func Probabilities(logits, f Matrix, temperature, gamma float64) Matrix {
	s := New(len(logits), logits.Cols())
	for i := range s {
		s[i] = Softmax(logits[i], temperature)
		for k := range s[i] {
			if f != nil {
				s[i][k] = max(0, s[i][k]+gamma*f[i][k])
			}
		}
	}
	return NormaliseRows(s)
}
