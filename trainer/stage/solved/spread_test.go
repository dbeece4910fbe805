package solved

import (
	"math"
	"testing"
)

// The exponential of the stages is that of package math, but for two units in the last place.
func TestExponential(t *testing.T) {
	for _, x := range []float64{0, -1e-300, -1e-9, -0.25, -math.Ln2 / 2, -math.Ln2, -1, -3.3, -20, -87.4, -300, -699} {
		if got, want := exponential(x), math.Exp(x); math.Abs(got-want) > 4.5e-16*want {
			t.Errorf("e^%g is %g, want %g", x, got, want)
		}
	}
	for x := -50.0; x < 0; x += 0.0137 {
		if got, want := exponential(x), math.Exp(x); math.Abs(got-want) > 4.5e-16*want {
			t.Errorf("e^%g is %g, want %g", x, got, want)
		}
	}
	if got := exponential(-1000); got != 0 {
		t.Errorf("e^-1000 is %g", got)
	}
}

func TestSoftmax(t *testing.T) {
	p := make([]float32, 3)
	softmax(p, []float32{1, 3, -200})
	if math.Abs(float64(p[0])-0.11920292) > 1e-7 || math.Abs(float64(p[1])-0.88079708) > 1e-7 || p[2] > 1e-30 {
		t.Errorf("%v", p)
	}
}
