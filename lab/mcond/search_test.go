package mcond

import (
	"testing"

	"rivulet/test/expect"
)

func TestSearch(t *testing.T) {
	w := newWorld(t)
	o := small()
	o.Mu, o.Delta = []float64{0}, []float64{0, 1.5}
	g := Grid{Lambda: []float64{0, 1}, Beta: []float64{0, 100}, Rounds: 2}
	points := 0
	found, err := Search(t.Context(), w.in, o, g, func(done, total int) {
		if points++; done != points || total != 4 {
			t.Errorf("%d of %d points are done, want %d of 4", done, total, points)
		}
	})
	expect.OK(t, err)
	if points != 4 || len(found.Points) != 4 {
		t.Errorf("%d points, %d in the result", points, len(found.Points))
	}
	best := found.Points[0]
	for _, p := range found.Points {
		if p.Accuracy > best.Accuracy {
			best = p
		}
	}
	want := o
	want.Lambda, want.Beta, want.Mu, want.Delta = best.Lambda, best.Beta, []float64{best.Mu}, []float64{best.Delta}
	expect.Same(t, want, found.Best, "best options")
	// A point equals a run with its options.
	for _, p := range found.Points {
		at := o
		at.Lambda, at.Beta, at.Rounds = p.Lambda, p.Beta, g.Rounds
		if r := mustLearn(t, w, at); r.Accuracy != p.Accuracy || r.Delta != p.Delta {
			t.Errorf("point %+v, a run with its options gives %v with δ = %v", p, r.Accuracy, r.Delta)
		}
	}
}

func TestRefusedSearch(t *testing.T) {
	for want, change := range map[string]func(in *Input, g *Grid){
		"Validate":       func(in *Input, _ *Grid) { in.Validate = nil },
		"0 values":       func(_ *Input, g *Grid) { g.Lambda = nil },
		"rounds is 0":    func(_ *Input, g *Grid) { g.Rounds = 0 },
		"beta is -1":     func(_ *Input, g *Grid) { g.Beta = []float64{1, -1} },
		"budget is zero": func(in *Input, _ *Grid) { in.Budget = make([]int, 3) },
	} {
		w, g := newWorld(t), DefaultGrid()
		change(&w.in, &g)
		expect.Error(t, expect.ErrorOf(Search(t.Context(), w.in, small(), g, nil)), want)
	}
}
