package mcond

import (
	"fmt"
	"math"
	"time"
)

// Constants of every run.
const (
	// steps are the steps on S and on M in a round (the paper's T).
	steps = 20
	// rateAffinity, rateM and rateRelay are Adam's rates for the MLP, M and the relay.
	rateAffinity, rateM, rateRelay = 1e-3, 0.1, 0.01
	// hidden is the width h of the affinity MLP.
	hidden = 128
	// affinityBias is the start of the MLP's last bias: A' starts near its sigmoid. At 0, A' is about 0.5 everywhere.
	affinityBias = -4
	// edgeBatch is the number of edges, and of drawn pairs beside them, in a step of L_str.
	edgeBatch = 512
	// evalEvery is the number of rounds between evaluations; the last round is always evaluated.
	evalEvery = 5
)

// Options of a run. [Defaults] returns measured good choices; the comment of a field gives the meaning of zero.
type Options struct {
	// Rounds is the number of outer rounds, each with a relay of its own; at least 1.
	Rounds int
	// RelaySteps is J, the relay's Adam steps after each step on S. 0: the relay is not trained.
	RelaySteps int
	// Lambda weighs L_str beside L_gra, Beta weighs L_ind beside L_tra; 0 or more.
	Lambda, Beta float64
	// RateX is Adam's rate for X'; above 0.
	RateX float64
	// Components is the number of principal directions of pre(X) in which X' is learned; the result has all d
	// features. 0, or at least d: the features are not reduced.
	Components int
	// NoStructure leaves L_str out, NoInductive L_ind; both together are the paper's "plain".
	NoStructure, NoInductive bool
	// NoAdjacency learns X' alone (GCond-X): A' has no edges. For GCond.
	NoAdjacency bool `json:",omitempty"`
	// OneStep gives each step on S a relay of its own, which is not trained (DosCond). For GCond.
	OneStep bool `json:",omitempty"`
	// RandomStart starts M uniform in [0, 1) instead of class-aware.
	RandomStart bool
	// Mu and Delta are the thresholds to choose from, in units of 1/N', the entries of a row that is spread evenly:
	// entries of A' below μ/N', of M below δ/N' are dropped. The first of each is used by evaluations during the run.
	// At least one each, none negative.
	Mu, Delta []float64
	// Seed of everything random.
	Seed uint64
	// Patience ends the run after this many evaluations in a row without a better one. 0: never.
	Patience int
	// Now is the clock of [Event]; nil: time.Now. It has no influence on the result.
	Now func() time.Time `json:"-"`
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// fewLabels is the number of labelled nodes below which a graph is treated like Cora (140), with slower steps on
// X', fewer directions and a longer training of the relay.
const fewLabels = 500

// Defaults returns the options of a run on a graph with a number of labelled nodes. The rate of X' matters most: at
// 0.03 (0.01 for few labels) S→O and S→S are 2 to 4 points lower on amazon_photo (cora), and fall as rounds go on.
// All features in place of 512 directions cost 5 points of S→S on amazon_photo.
func Defaults(labelled int) Options {
	o := Options{Rounds: 30, RelaySteps: 5, Lambda: 0.1, Beta: 100, RateX: 0.01, Components: 512,
		Mu: []float64{0.5, 0, 5}, Delta: []float64{0.5, 0, 2, 5}}
	if labelled < fewLabels {
		o.RateX, o.RelaySteps, o.Components = 0.003, 10, 128
	}
	return o
}

// Validate checks ranges; an error names the option and its value.
func (o Options) Validate() error {
	for _, f := range []struct {
		name  string
		value int
		least int
	}{
		{"rounds", o.Rounds, 1}, {"relay_steps", o.RelaySteps, 0}, {"components", o.Components, 0},
		{"patience", o.Patience, 0}, {"number of mu", len(o.Mu), 1}, {"number of delta", len(o.Delta), 1},
	} {
		if f.value < f.least {
			return fmt.Errorf("%s is %d, want at least %d", f.name, f.value, f.least)
		}
	}
	return o.validateReals()
}

func (o Options) validateReals() error {
	type field struct {
		name  string
		value float64
	}
	weights := []field{{"lambda", o.Lambda}, {"beta", o.Beta}}
	for _, v := range o.Mu {
		weights = append(weights, field{"mu", v})
	}
	for _, v := range o.Delta {
		weights = append(weights, field{"delta", v})
	}
	for _, f := range weights {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return fmt.Errorf("%s is %g, want a number of at least 0", f.name, f.value)
		}
	}
	if !(o.RateX > 0) || math.IsInf(o.RateX, 0) {
		return fmt.Errorf("rate_x is %g, want a positive number", o.RateX)
	}
	return nil
}
