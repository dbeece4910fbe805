package harness

import (
	"fmt"
	"math"
	"strings"

	"rivulet/event"
)

// Says returns the content of a prediction, bit for bit. Fields that differ between predictions of the same arrival
// by the same version are left out: batch, times, and the arrival's place.
func Says(p *event.Prediction) string {
	return fmt.Sprintf("%s, neighbours: %d known, %d arrivals, %d in the batch, %d unknown, by %s", Numbers(p), p.Known,
		p.Arrivals, p.InBatch, p.Unknown, p.Artifact)
}

// Numbers returns the numbers of a prediction, bit for bit.
func Numbers(p *event.Prediction) string {
	return fmt.Sprintf("class %d %s, probability %08x, probabilities%s, logits%s", p.Class, p.ClassName,
		math.Float32bits(p.Probability), Bits(p.Probabilities), Bits(p.Logits))
}

// Bits returns the bits of numbers, as text.
func Bits(values []float32) string {
	var text strings.Builder
	for _, v := range values {
		fmt.Fprintf(&text, " %08x", math.Float32bits(v))
	}
	return text.String()
}
