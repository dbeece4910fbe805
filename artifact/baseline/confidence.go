package baseline

import (
	"errors"
	"fmt"
	"math"
)

// Confidence describes how reliable a model's published probabilities are, measured at training with one kind of
// calibration. The zero value means that nothing was measured.
type Confidence struct {
	ECE CalibrationError `json:"ece,omitzero"`
	// Coverage is the share of the validation nodes that Threshold was chosen to answer, in (0, 1]; 0: none was
	// chosen.
	Coverage float64 `json:"coverage,omitzero"`
	// Threshold is the probability of the predicted class below which a prediction abstains.
	Threshold float32 `json:"threshold,omitzero"`
	// Curve is the risk-coverage curve on the validation nodes, coverage ascending.
	Curve []CoveragePoint `json:"curve,omitempty"`
}

// CalibrationError is the expected calibration error in percent (Guo et al., "On Calibration of Modern Neural
// Networks", 2017), at temperature 1 (before) and at the calibration's (after); nil if it was not measured.
// On the validation nodes each half has the temperature that was fitted to the other one.
type CalibrationError struct {
	ValidationBefore *float64 `json:"validation_before,omitempty"`
	ValidationAfter  *float64 `json:"validation_after,omitempty"`
	TestBefore       *float64 `json:"test_before,omitempty"`
	TestAfter        *float64 `json:"test_after,omitempty"`
}

// CoveragePoint is the effect of a threshold on the validation nodes.
type CoveragePoint struct {
	Coverage  float64 `json:"coverage"`  // share of the nodes that are answered, in (0, 1]
	Threshold float32 `json:"threshold"` // probability of the predicted class below which a prediction abstains
	Accuracy  float64 `json:"accuracy"`  // percent, of the nodes that are answered
}

// ErrNoCurve means that an artifact was not trained with a risk-coverage curve.
var ErrNoCurve = errors.New("the artifact has no risk-coverage curve")

// ThresholdAt returns the threshold that answers a share of the validation nodes, by linear interpolation of the
// curve. A coverage outside the curve is an error that names its ends.
func (c *Confidence) ThresholdAt(coverage float64) (float32, error) {
	if len(c.Curve) == 0 {
		return 0, ErrNoCurve
	}
	low := c.Curve[0]
	for _, high := range c.Curve {
		switch {
		case coverage == high.Coverage:
			return high.Threshold, nil
		case coverage > low.Coverage && coverage < high.Coverage:
			share := float32((coverage - low.Coverage) / (high.Coverage - low.Coverage))
			return low.Threshold + share*(high.Threshold-low.Threshold), nil
		}
		low = high
	}
	return 0, fmt.Errorf("coverage is %v, the artifact's risk-coverage curve goes from %v to %v", coverage,
		c.Curve[0].Coverage, low.Coverage)
}

// Validate checks ranges, and the order of the curve.
func (c *Confidence) Validate() error {
	for _, e := range []struct {
		name  string
		value *float64
	}{
		{"validation_before", c.ECE.ValidationBefore}, {"validation_after", c.ECE.ValidationAfter},
		{"test_before", c.ECE.TestBefore}, {"test_after", c.ECE.TestAfter},
	} {
		if e.value != nil && !(*e.value >= 0 && *e.value <= 100) {
			return fmt.Errorf("ece.%s is %v, want 0 to 100", e.name, *e.value)
		}
	}
	switch {
	case !(c.Coverage >= 0 && c.Coverage <= 1):
		return fmt.Errorf("coverage is %v, want 0 to 1", c.Coverage)
	case !(c.Threshold >= 0 && c.Threshold <= 1):
		return fmt.Errorf("threshold is %v, want 0 to 1", c.Threshold)
	case c.Coverage == 0 && c.Threshold != 0:
		return fmt.Errorf("threshold is %v without the coverage for which it was chosen", c.Threshold)
	}
	last := CoveragePoint{Threshold: math.MaxFloat32}
	for i, p := range c.Curve {
		if err := p.validate(last); err != nil {
			return fmt.Errorf("curve[%d].%w", i, err)
		}
		last = p
	}
	return nil
}

// validate checks a point of a curve and its order after the one before.
func (p CoveragePoint) validate(before CoveragePoint) error {
	switch {
	case !(p.Coverage > before.Coverage && p.Coverage <= 1):
		return fmt.Errorf("coverage is %v, want more than %v and at most 1", p.Coverage, before.Coverage)
	case !(p.Threshold >= 0 && p.Threshold <= 1):
		return fmt.Errorf("threshold is %v, want 0 to 1", p.Threshold)
	case p.Threshold > before.Threshold:
		return fmt.Errorf("threshold is %v after %v, want it to fall as coverage grows", p.Threshold, before.Threshold)
	case !(p.Accuracy >= 0 && p.Accuracy <= 100):
		return fmt.Errorf("accuracy is %v, want 0 to 100", p.Accuracy)
	}
	return nil
}
