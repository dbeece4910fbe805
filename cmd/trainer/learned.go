package main

import (
	"math"
	"strconv"

	"rivulet/lab/mcond"
	"rivulet/lab/methods"
	"rivulet/trainer"
)

// learnedRun describes a run of a method that learns S.
type learnedRun struct {
	Rounds    int           `json:"rounds"`
	BestRound int           `json:"best_round"`
	Accuracy  float64       `json:"validation"` // of O->S, S->S and S->O on the support nodes, summed, percent
	Lambda    float64       `json:"lambda"`
	Beta      float64       `json:"beta"`
	Mu        float64       `json:"mu"`
	Delta     float64       `json:"delta"`
	Search    []mcond.Point `json:"search,omitempty"`
}

func newLearned(l *methods.Course) *learnedRun {
	if l == nil {
		return nil
	}
	r := l.Result
	return &learnedRun{Rounds: r.Rounds, BestRound: r.Round, Accuracy: r.Accuracy, Lambda: l.Options.Lambda,
		Beta: l.Options.Beta, Mu: r.Mu, Delta: r.Delta, Search: l.Points}
}

// learnedCurves is a learned run of eval --json, with the values that a report draws.
type learnedCurves struct {
	Method         string  `json:"method"` // an ablation is named after the part that it leaves out
	Seed           uint64  `json:"seed"`
	Ratio          float64 `json:"ratio"` // as the run was told; 0: the size was given in nodes, or chosen
	Nodes          int     `json:"nodes"` // N, rows of M
	SyntheticNodes int     `json:"synthetic_nodes"`
	learnedRun
	// Losses have a value for each step: gra and str of the steps on S, tra and ind of the steps on M. A loss that is not
	// part of the run is empty.
	Losses map[string]losses `json:"losses"`
	// Thresholds are the pairs of μ and δ that were tried on the support nodes.
	Thresholds []threshold `json:"thresholds"`
	// MapBefore and MapAfter are the mean weights by which nodes of a class (row) are mapped to synthetic nodes of a class
	// (column), before and after training; empty without M.
	MapBefore [][]float64 `json:"map_before,omitempty"`
	MapAfter  [][]float64 `json:"map_after,omitempty"`
}

// threshold is the accuracy of one S and M without their smallest entries.
type threshold struct {
	Mu       float64 `json:"mu"`
	Delta    float64 `json:"delta"`
	Accuracy float64 `json:"validation"` // as of the run
	EntriesA int     `json:"entries_a"`
	EntriesM int     `json:"entries_m"`
}

func newCurves(run trainer.Options, l *methods.Course, classes int) learnedCurves {
	r := l.Result
	method := run.Method
	if method == methods.Learned {
		method = methods.Settings{Learn: &l.Options}.Label()
	}
	out := learnedCurves{Method: method, Seed: run.Seed, Ratio: run.Ratio, Nodes: len(l.Labels),
		SyntheticNodes: len(r.Labels), learnedRun: *newLearned(l), Thresholds: []threshold{},
		Losses: map[string]losses{"gra": r.Losses.Gra, "str": r.Losses.Str, "tra": r.Losses.Tra, "ind": r.Losses.Ind}}
	for _, t := range r.Thresholds {
		out.Thresholds = append(out.Thresholds, threshold(t))
	}
	if r.Mapping != nil {
		out.MapBefore = methods.ClassMap(r.Start, l.Labels, r.Labels, classes)
		out.MapAfter = methods.ClassMap(r.Mapping, l.Labels, r.Labels, classes)
	}
	return out
}

// losses are written with six digits, and as null where they are not finite, which JSON has no numbers for.
type losses []float64

// MarshalJSON implements [encoding/json.Marshaler].
func (l losses) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for k, v := range l {
		if k > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
		} else {
			out = strconv.AppendFloat(out, v, 'g', 6, 64)
		}
	}
	return append(out, ']'), nil
}
