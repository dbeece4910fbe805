package stage

import (
	"errors"
	"math"
	"testing"

	"rivulet/test/expect"
)

func TestOverflowIsAnError(t *testing.T) {
	scale, _ := NewScale(10, 1)
	for _, v := range []float64{11, -11, math.NaN(), math.Inf(1)} {
		if _, err := scale.Integer(v); !errors.Is(err, ErrOverflow) {
			t.Errorf("%g in a column of at most 10: error %v", v, err)
		}
	}
	for _, v := range []float64{math.Inf(1), math.NaN(), -1} {
		if _, err := NewScale(v, 1); !errors.Is(err, ErrOverflow) {
			t.Errorf("a scale for %g: error %v", v, err)
		}
	}
	if _, err := NewScale(1, 1<<40); !errors.Is(err, ErrOverflow) {
		t.Errorf("a scale for 2^40 terms in 64 bits: error %v", err)
	}
}

// The scale of a hop leaves room for as many terms as were said, and a float32 keeps its bits.
func TestScaleOfAHub(t *testing.T) {
	const terms = 1 << 20
	scale, err := NewScale(3, terms)
	expect.OK(t, err)
	n, err := scale.Integer(3)
	if err != nil || n > math.MaxInt64/terms {
		t.Errorf("3 is %d, %d times of which overflow: %v", n, terms, err)
	}
	v := float64(float32(2.9999))
	if n, err := scale.Integer(v); err != nil || float64(n)*scale.Unit() != v {
		t.Errorf("%g does not survive: %v", v, err)
	}
}
