package mcond

import (
	"math"
	"time"

	"rivulet/graph"
)

// Losses are a run's, one value a step: Gra and Str of the steps on S, Tra and Ind of the steps on M. A loss that is
// not part of the run is empty.
type Losses struct {
	Gra, Str []float64
	Tra, Ind []float64
}

// Evaluation is the accuracy of S and M after a round, as returned by Validate.
type Evaluation struct {
	Round    int
	Accuracy float64
}

// Threshold is the accuracy of the best round under a pair of thresholds.
type Threshold struct {
	Mu, Delta          float64 // in units of 1/N'
	Accuracy           float64
	EntriesA, EntriesM int // entries of A' and of M that are left
}

// Result of a run.
type Result struct {
	Snapshot            // the best: sparsified A' and M, X', Y'
	Accuracy    float64 // from Validate; NaN without it
	Losses      Losses
	Evaluations []Evaluation
	Thresholds  []Threshold  // every pair that was tried; empty without Validate
	Rounds      int          // rounds done: fewer than asked for if Patience ended the run
	Start       *graph.Dense // M before training, normalised, N×N'; nil for GCond
	Affinity    *graph.Dense // A' before thresholds, N'×N'
	Mapping     *graph.Dense // M before thresholds, N×N'; nil for GCond
}

// Event reports a finished round.
type Event struct {
	Round, Rounds      int
	Gra, Str, Tra, Ind float64       // means over the round's steps; NaN for a loss that is not part of the run
	Accuracy           float64       // NaN if the round was not evaluated
	Best               float64       // best accuracy so far; NaN before the first evaluation
	BestRound          int           // 0 before the first evaluation
	Elapsed, Left      time.Duration // Left: at the pace so far, were no round saved by Patience
}

// event returns the report of the last round, whose steps began at these places of the loss histories.
func (l *learner) event(atS, atM int, accuracy float64) Event {
	e := Event{Round: l.round, Rounds: l.o.Rounds, Gra: mean(l.losses.Gra[atS:]), Str: math.NaN(),
		Tra: mean(l.losses.Tra[atM:]),
		Ind: math.NaN(), Accuracy: accuracy, Best: math.NaN()}
	if l.structure != nil {
		e.Str = mean(l.losses.Str[atS:])
	}
	if l.ind != nil {
		e.Ind = mean(l.losses.Ind[atM:])
	}
	if l.best != nil {
		e.Best, e.BestRound = l.best.accuracy, l.best.round
	}
	return e
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// result returns the best state, or the last one if none was evaluated, under the best thresholds.
func (l *learner) result() (*Result, error) {
	out := &Result{Losses: l.losses, Evaluations: l.evals, Rounds: l.round, Accuracy: math.NaN()}
	final := l.best
	if final == nil {
		final = l.current()
	}
	out.Affinity = final.adj.dense()
	if final.mapping != nil {
		out.Mapping = final.mapping.dense()
	}
	if l.in.Validate == nil {
		out.Snapshot = *l.snapshot(final, l.o.Mu[0], l.o.Delta[0])
	} else {
		best, accuracy, all, err := l.sparsify(final)
		if err != nil {
			return nil, err
		}
		out.Snapshot, out.Accuracy, out.Thresholds = *best, accuracy, all
	}
	if l.raw != nil { // last: it overwrites memory of the current M
		l.norm.forward(l.startM())
		out.Start = l.norm.out.dense()
	}
	return out, nil
}
