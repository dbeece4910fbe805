package candidate

import (
	"math/rand/v2"
	"testing"
)

// Each figure that speaks against a candidate gives it up, once there are enough arrivals.
func TestJudge(t *testing.T) {
	r := Rule{Arrivals: 100, Agreement: 0.8, DeadLetters: 0.01, Slowdown: 2}
	for name, c := range map[string]struct {
		c    Comparison
		want string
	}{
		"too few":      {Comparison{Arrivals: 99, Dead: 99}, ""},
		"dead letters": {Comparison{Arrivals: 100, Dead: 2, Agreed: 98}, ActionAbort},
		"disagreement": {Comparison{Arrivals: 100, Agreed: 79}, ActionAbort},
		"slow":         {Comparison{Arrivals: 100, Agreed: 90, P99: [2]float64{1, 2.1}}, ActionAbort},
		"well":         {Comparison{Arrivals: 100, Dead: 1, Agreed: 90, P99: [2]float64{1, 2}}, ""},
	} {
		if got, reason := r.Judge(c.c); got != c.want || reason == "" {
			t.Errorf("%s: %q (%s), want %q", name, got, reason, c.want)
		}
	}
	if got, reason := (Rule{}).Judge(Comparison{Arrivals: 10, P99: [2]float64{1, 9}}); got != "" {
		t.Errorf("a rule without bounds: %s (%s)", got, reason)
	}
}

func TestTest(t *testing.T) {
	r := Rule{Labels: 100, P: 0.05}
	for labels, want := range map[int]int{0: -1, 99: -1, 100: 0, 199: 0, 200: 1, 399: 1, 400: 2, 6400: 6} {
		if got := r.Look(labels); got != want {
			t.Errorf("%d labels: look %d, want %d", labels, got, want)
		}
	}
	for _, c := range []struct {
		gain, loss, look int
		want             string
	}{{12, 2, 0, ActionPromote}, {2, 12, 0, ActionAbort}, {9, 3, 0, ""}, {12, 2, 4, ""}, {0, 0, 0, ""}} {
		if got, reason := r.Test(Comparison{Gain: c.gain, Loss: c.loss}, c.look); got != c.want {
			t.Errorf("%d:%d at look %d: %q (%s), want %q", c.gain, c.loss, c.look, got, reason, c.want)
		}
	}
}

// Of two versions that are equally good, labels promote or give up at most as many as the rule allows, however often
// they are looked at.
func TestLooksErrAsOftenAsAllowed(t *testing.T) {
	r, draw := Rule{Labels: 50, P: 0.1}, rand.New(rand.NewPCG(1, 2))
	const trials = 2000
	wrong := 0
	for range trials {
		var c Comparison
		for look := range 7 {
			for c.Labels < r.Labels<<look {
				if c.Labels++; draw.IntN(2) == 0 {
					c.Gain++
				} else {
					c.Loss++
				}
			}
			if action, _ := r.Test(c, r.Look(c.Labels)); action != "" {
				wrong++
				break
			}
		}
	}
	if share := float64(wrong) / trials; share > r.P || share < r.P/10 {
		t.Errorf("%.3f of the trials are decided, want at most %v, and some", share, r.P)
	}
}
