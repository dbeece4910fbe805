package mcond

import (
	"context"
	"errors"
	"fmt"
)

// Grid holds the values that [Search] tries.
type Grid struct {
	Lambda, Beta []float64 // at least one each; the paper: 0, 0.01, 0.1, 1, 10, 100, 1000
	// Rounds is the number of outer rounds of each point, at least 1. The thresholds of the options are tried on the best
	// round of each point.
	Rounds int
}

// DefaultGrid returns a search of 9 points at the smallest budget at which their order is the same as after full runs:
// 10 rounds, a third of a run's.
func DefaultGrid() Grid {
	return Grid{Lambda: []float64{0, 0.1, 1}, Beta: []float64{10, 100, 1000}, Rounds: 10}
}

// Point is one λ and β with its best thresholds.
type Point struct {
	Lambda   float64 `json:"lambda"`
	Beta     float64 `json:"beta"`
	Mu       float64 `json:"mu"`
	Delta    float64 `json:"delta"`
	Accuracy float64 `json:"accuracy"` // from Validate
}

// Found is the outcome of a search.
type Found struct {
	Best   Options // the options given, with λ, β, μ and δ of the best point
	Points []Point // in the order of the grid: λ outside, β inside
}

// Search learns with every λ and β of the grid and few rounds, and chooses by Validate, the first among equals.
// progress is called after each point; it may be nil.
func Search(ctx context.Context, in Input, o Options, g Grid, progress func(done, total int)) (*Found, error) {
	if err := checkSearch(&in, &o, &g); err != nil {
		return nil, err
	}
	p := prepare(&in, &o)
	found := &Found{}
	total := len(g.Lambda) * len(g.Beta)
	best := -1
	for _, lambda := range g.Lambda {
		for _, beta := range g.Beta {
			at := o
			at.Lambda, at.Beta, at.Rounds = lambda, beta, g.Rounds
			r, err := train(ctx, p, &at, true, nil)
			if err != nil {
				return nil, fmt.Errorf("searching at λ = %g, β = %g: %w", lambda, beta, err)
			}
			point := Point{lambda, beta, r.Mu, r.Delta, r.Accuracy}
			found.Points = append(found.Points, point)
			if best < 0 || point.Accuracy > found.Points[best].Accuracy {
				best = len(found.Points) - 1
			}
			if progress != nil {
				progress(len(found.Points), total)
			}
		}
	}
	chosen := found.Points[best]
	found.Best = o
	found.Best.Lambda, found.Best.Beta = chosen.Lambda, chosen.Beta
	found.Best.Mu, found.Best.Delta = []float64{chosen.Mu}, []float64{chosen.Delta}
	return found, nil
}

func checkSearch(in *Input, o *Options, g *Grid) error {
	switch {
	case in.Validate == nil:
		return errors.New("a search needs Validate to choose by")
	case len(g.Lambda) == 0 || len(g.Beta) == 0:
		return fmt.Errorf("the grid has %d values of lambda and %d of beta, want at least 1 each", len(g.Lambda), len(g.Beta))
	case g.Rounds < 1:
		return fmt.Errorf("the grid's rounds is %d, want at least 1", g.Rounds)
	}
	for _, lambda := range g.Lambda {
		for _, beta := range g.Beta {
			at := *o
			at.Lambda, at.Beta = lambda, beta
			if err := at.Validate(); err != nil {
				return err
			}
		}
	}
	return in.check()
}
