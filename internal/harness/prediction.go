package harness

import (
	"fmt"
	"math"
	"strings"

	"rivulet/event"
)

// Says returns what a prediction says of its arrival, to the bit. What differs from one prediction of the same arrival by the
// same version to the next is left out: batch, times, and the place that the arrival came from.
func Says(p *event.Prediction) string {
	return fmt.Sprintf("class %d %s, probability %08x, neighbours: %d known, %d arrivals, %d in the batch, %d unknown, probabilities%s, logits%s, by %s",
		p.Class, p.ClassName, math.Float32bits(p.Probability), p.Known, p.Arrivals, p.InBatch, p.Unknown, Bits(p.Probabilities), Bits(p.Logits), p.Artifact)
}

// Bits are the bits of numbers, as text.
func Bits(values []float32) string {
	var text strings.Builder
	for _, v := range values {
		fmt.Fprintf(&text, " %08x", math.Float32bits(v))
	}
	return text.String()
}
