package methods

import (
	"context"
	"fmt"
	"math"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/lab/mcond"
	"rivulet/trainer"
	"rivulet/trainer/condense"
)

// Settings are read by the methods learned, gcond, gcond-x and doscond.
type Settings struct {
	// Learn are the options of the run; nil: [mcond.Defaults] for the number of labelled nodes. The seed is the run's.
	Learn *mcond.Options
	// Search, if set, chooses λ, β, μ and δ of the method learned on the support nodes first.
	Search *mcond.Grid
	// Traced gets the course of each run; nil: not wanted.
	Traced func(*Course)
}

// Course is the course of a learned run, for reports.
type Course struct {
	Options mcond.Options // as they were used
	Points  []mcond.Point // of a search; empty without one
	Result  *mcond.Result
	Labels  []int32 // of T's nodes, −1 if unknown: the rows of M
}

// Ablation is the method learned without a part of it.
type Ablation struct {
	Label  string
	Change func(o *mcond.Options)
}

// Ablations of the method learned (the paper's Table V).
var Ablations = []Ablation{
	{"learned plain", func(o *mcond.Options) { o.NoStructure, o.NoInductive = true, true }},
	{"learned without L_str", func(o *mcond.Options) { o.NoStructure = true }},
	{"learned without L_ind", func(o *mcond.Options) { o.NoInductive = true }},
	{"learned random M", func(o *mcond.Options) { o.RandomStart = true }},
}

// Label returns the name of the method learned in results: an ablation is named after the part that it leaves out.
func (s Settings) Label() string {
	if s.Learn == nil {
		return Learned
	}
	for _, a := range Ablations {
		var of mcond.Options
		a.Change(&of)
		if s.Learn.NoStructure == of.NoStructure && s.Learn.NoInductive == of.NoInductive &&
			s.Learn.RandomStart == of.RandomStart {
			return a.Label
		}
	}
	return Learned
}

// Defaults returns the default options of a learned run on a data set.
func Defaults(d *dataset.Dataset) mcond.Options { return mcond.Defaults(labelled(d.Original().Labels)) }

// Of returns the options of a run on a graph with a number of labelled nodes.
func (s Settings) Of(labelled int) mcond.Options {
	if s.Learn != nil {
		return *s.Learn
	}
	return mcond.Defaults(labelled)
}

func labelled(labels []int32) (n int) {
	for _, y := range labels {
		if y >= 0 {
			n++
		}
	}
	return n
}

// learned does docs/algorithm.md, section 4: models fitted on T influence S and M only through the choice among
// snapshots and thresholds, by the accuracy of O→S, S→S and S→O on the support nodes.
func (s Settings) learned(ctx context.Context, t *trainer.T, h *trainer.Held, r *trainer.Run,
	whole []infer.Model) (*trainer.Result, error) {
	relay, err := trainer.Whole(ctx, t, h, r, whole, "sgc")
	if err != nil {
		return nil, err
	}
	in := input(t, r, func(s *mcond.Snapshot) (float64, error) {
		c := condensed(s)
		small, sum, err := trainer.FitOn(ctx, t, h, r, c, "sgc")
		for _, m := range []infer.Model{relay, small} {
			if err == nil {
				sum += trainer.Accuracy(t, h, c, m)
			}
		}
		return sum, err
	})
	in.Support = h.Support()
	return s.run(ctx, t, r, mcond.Learn, in, "learning S and M")
}

// gcond learns S only, in the way that kind says; models fitted on it are deployed on T.
func (s Settings) gcond(kind mcond.Options) trainer.Condenser {
	return func(ctx context.Context, t *trainer.T, h *trainer.Held, r *trainer.Run, _ []infer.Model) (*trainer.Result,
		error) {
		in := input(t, r, func(s *mcond.Snapshot) (float64, error) {
			_, accuracy, err := trainer.FitOn(ctx, t, h, r, condensed(s), "sgc")
			return accuracy, err
		})
		by := func(ctx context.Context, in mcond.Input, o mcond.Options, report func(mcond.Event)) (*mcond.Result, error) {
			o.NoAdjacency, o.OneStep = kind.NoAdjacency, kind.OneStep
			return mcond.GCond(ctx, in, o, report)
		}
		plain := Settings{Learn: s.Learn, Traced: s.Traced} // without a search, which is only for the method learned
		return plain.run(ctx, t, r, by, in, "learning S")
	}
}

// learner is a way of package mcond to learn S.
type learner func(context.Context, mcond.Input, mcond.Options, func(mcond.Event)) (*mcond.Result, error)

func (s Settings) run(ctx context.Context, t *trainer.T, r *trainer.Run, by learner, in mcond.Input,
	what string) (*trainer.Result, error) {
	o, points, err := s.options(ctx, t, r, in)
	if err != nil {
		return nil, err
	}
	r.Progress.Step(what, 0, o.Rounds)
	result, err := by(ctx, in, o, lossProgress(r.Progress, what))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	r.Progress.Step(what, o.Rounds, o.Rounds) // perhaps sooner
	if s.Traced != nil {
		s.Traced(&Course{Options: o, Points: points, Result: result, Labels: t.Labels})
	}
	return &trainer.Result{Condensation: condensed(&result.Snapshot)}, nil
}

func input(t *trainer.T, r *trainer.Run, validate func(s *mcond.Snapshot) (float64, error)) mcond.Input {
	return mcond.Input{Adj: t.Adj, X: t.X, Pre: t.Preprocess, Labels: t.Labels, Classes: t.Classes(), Budget: r.Share(),
		Validate: validate}
}

// options returns the options of the run, with the choice of a search.
func (s Settings) options(ctx context.Context, t *trainer.T, r *trainer.Run,
	in mcond.Input) (mcond.Options, []mcond.Point, error) {
	o := s.Of(labelled(t.Labels))
	o.Seed = r.Seed
	if s.Search == nil {
		return o, nil, nil
	}
	found, err := mcond.Search(ctx, in, o, *s.Search, func(done, total int) {
		r.Progress.Step("searching λ, β, μ and δ", done, total)
	})
	if err != nil {
		return o, nil, err
	}
	return found.Best, found.Points, nil
}

func condensed(s *mcond.Snapshot) *condense.Condensation {
	return &condense.Condensation{Synthetic: artifact.Synthetic{Adj: s.Adj, X: s.X, Labels: s.Labels}, M: s.M,
		Attachment: artifact.AttachJoint}
}

// lossProgress reports the losses and the best accuracy of a round with the number of rounds.
func lossProgress(progress trainer.Progress, what string) func(mcond.Event) {
	return func(e mcond.Event) {
		if watching, ok := progress.(trainer.StageProgress); ok {
			watching.Now(roundNote(e))
		} else if e.Round < e.Rounds {
			progress.Step(what, e.Round, e.Rounds)
		}
	}
}

// roundNote returns a line on a round: the losses of the run, the best accuracy, the remaining time.
func roundNote(e mcond.Event) string {
	text := fmt.Sprintf("round %d of %d", e.Round, e.Rounds)
	for _, l := range []struct {
		name  string
		value float64
	}{{"L_gra", e.Gra}, {"L_str", e.Str}, {"L_tra", e.Tra}, {"L_ind", e.Ind}} {
		if !math.IsNaN(l.value) {
			text += fmt.Sprintf("  %s %.4f", l.name, l.value)
		}
	}
	if e.BestRound > 0 {
		text += fmt.Sprintf("  best %.2f in round %d", e.Best, e.BestRound)
	}
	return text + fmt.Sprintf("  %.0f s left", e.Left.Seconds())
}

// ClassMap returns the mean weight by which nodes of one class are mapped to synthetic nodes of another, C×C, for a
// heat map of M. Rows of classes without nodes are zero.
func ClassMap(m *graph.Dense, labels, synthetic []int32, classes int) [][]float64 {
	out, count := make([][]float64, classes), make([]float64, classes)
	for c := range out {
		out[c] = make([]float64, classes)
	}
	for i, y := range labels {
		if y < 0 {
			continue
		}
		count[y]++
		for k, v := range m.Row(i) {
			out[y][synthetic[k]] += float64(v)
		}
	}
	for c, n := range count {
		for k := range out[c] {
			out[c][k] /= math.Max(1, n)
		}
	}
	return out
}
