package fit

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
)

// counting is a design that counts its products and ends a context in one of them.
type counting struct {
	Explicit
	forward, adjoint int
	endAt            int // the forward product in which the context ends
	end              context.CancelFunc
}

func (c *counting) Forward(w *graph.Dense) *graph.Dense {
	if c.forward++; c.forward == c.endAt {
		c.end()
	}
	return c.Explicit.Forward(w)
}

func (c *counting) Adjoint(g *graph.Dense) *graph.Dense {
	c.adjoint++
	return c.Explicit.Adjoint(g)
}

// An epoch ends between its products: the one under way is the last.
func TestAnEpochEndsWithItsContext(t *testing.T) {
	for _, model := range models {
		p := tiny(rand.New(rand.NewPCG(1, 0)), model)
		ctx, cancel := context.WithCancel(t.Context())
		propagated := &counting{Explicit: p.Propagated.(Explicit), endAt: 3, end: cancel}
		self := &counting{Explicit: p.Self.(Explicit), endAt: 3, end: cancel}
		p.Propagated, p.Self = propagated, self
		o := DefaultGNNOptions(1e-3, 1)
		o.InputDropout = 0
		reported := 0
		o.Report = func(Checkpoint) { reported++ }
		_, _, err := GNN(ctx, p, o, func(infer.Model) (float64, error) { return 1, nil })
		if !errors.Is(err, context.Canceled) || reported != 2 {
			t.Fatalf("%s: %v after %d epochs, want the context's error after 2", model, err, reported)
		}
		for _, f := range []*counting{propagated, self} {
			if f.adjoint > 2 || f.forward > 3 {
				t.Errorf("%s: %d products and %d adjoint ones after the context had ended in the third", model, f.forward,
					f.adjoint)
			}
		}
	}
}

// L-BFGS takes no evaluation after the one in which its context ends.
func TestAnEvaluationIsTheLastWhenItsContextEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	x := graph.NewDense(40, 6)
	labels := make([]int32, x.Rows)
	for k := range x.Data {
		x.Data[k] = float32(rng.NormFloat64())
	}
	for i := range labels {
		labels[i] = int32(rng.IntN(3))
	}
	for endAt := 1; endAt <= 5; endAt++ {
		ctx, cancel := context.WithCancel(t.Context())
		f := &counting{Explicit: Explicit{X: x}, endAt: endAt, end: cancel}
		_, err := SGC(ctx, Problem{Design: f, Labels: labels, Classes: 3}, 1e-4, Final, nil)
		if !errors.Is(err, context.Canceled) || f.forward != endAt || f.adjoint > endAt {
			t.Errorf("%v after %d evaluations, want the context's error after %d", err, f.forward, endAt)
		}
	}
}
