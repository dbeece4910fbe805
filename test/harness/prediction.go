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
	return fmt.Sprintf("class %d %s, probability %08x, neighbours: %d known, %d arrivals, %d in the batch, %d unknown, probabilities%s, logits%s, by %s",
		p.Class, p.ClassName, math.Float32bits(p.Probability), p.Known, p.Arrivals, p.InBatch, p.Unknown,
		Bits(p.Probabilities), Bits(p.Logits), p.Artifact)
}

// Bits returns the bits of numbers, as text.
func Bits(values []float32) string {
	var text strings.Builder
	for _, v := range values {
		fmt.Fprintf(&text, " %08x", math.Float32bits(v))
	}
	return text.String()
}
