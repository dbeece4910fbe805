package trainer

import (
	"context"
	"fmt"
	"math"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/mcond"
)

// LearnedCourse holds the course of a learned run, for reports.
type LearnedCourse struct {
	Options mcond.Options // as they were used
	Points  []mcond.Point // what a search tried; empty without one
	Result  *mcond.Result
	Labels  []int32 // of T's nodes, −1 if unknown: the rows of M
}

// condenseLearned does docs/algorithm.md, section 4: models fitted on T influence S and M only through the choice
// among snapshots and thresholds, by the accuracy of O→S, S→S and S→O on the support nodes.
func (t *task) condenseLearned(ctx context.Context, whole []*fitResult, progress Progress) (condensation, error) {
	relay, err := t.sgcOf(ctx, whole, progress)
	if err != nil {
		return nil, err
	}
	in := t.learnInput(func(s *mcond.Snapshot) (float64, error) { return t.judge(ctx, s, relay) })
	in.Support = t.data.Attach(t.original, t.data.Validation, true)
	return t.learn(ctx, mcond.Learn, in, "learning S and M", progress)
}

// condenseGCond learns S only; models fitted on it are deployed on T.
func (t *task) condenseGCond(ctx context.Context, _ []*fitResult, progress Progress) (condensation, error) {
	in := t.learnInput(func(s *mcond.Snapshot) (float64, error) {
		small, err := t.onGraph(t.condensedOf(s)).fit(ctx, modelSGC, Silent{})
		if err != nil {
			return 0, err
		}
		return small.validation, nil
	})
	return t.learn(ctx, mcond.GCond, in, "learning S", progress)
}

// learner is a way of package mcond to learn S.
type learner func(context.Context, mcond.Input, mcond.Options, func(mcond.Event)) (*mcond.Result, error)

func (t *task) learn(ctx context.Context, by learner, in mcond.Input, what string, progress Progress) (
	condensation, error) {
	o, points, err := t.learnOptions(ctx, in, progress)
	if err != nil {
		return nil, err
	}
	progress.Step(what, 0, o.Rounds)
	result, err := by(ctx, in, o, lossProgress(progress, what))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	progress.Step(what, o.Rounds, o.Rounds) // perhaps sooner
	out := t.onGraph(t.condensedOf(&result.Snapshot))
	out.trace = &LearnedCourse{Options: o, Points: points, Result: result, Labels: t.original.Labels}
	return out, nil
}

func (t *task) learnInput(validate func(s *mcond.Snapshot) (float64, error)) mcond.Input {
	return mcond.Input{Adj: t.original.Adj, X: t.original.X, Pre: t.pre, Labels: t.original.Labels, Classes: t.classes(),
		Budget: t.share, Validate: validate}
}

// learnOptions returns the options of the run, with the choice of a search.
func (t *task) learnOptions(ctx context.Context, in mcond.Input, progress Progress) (mcond.Options,
	[]mcond.Point, error) {
	o := mcond.Defaults(len(t.labelled))
	if t.options.Learn != nil {
		o = *t.options.Learn
	}
	o.Seed = t.options.Seed
	if t.options.Search == nil {
		return o, nil, nil
	}
	found, err := mcond.Search(ctx, in, o, *t.options.Search, func(done, total int) {
		progress.Step("searching λ, β, μ and δ", done, total)
	})
	if err != nil {
		return o, nil, err
	}
	return found.Best, found.Points, nil
}

// LearnDefaults returns the default options of a learned run on a data set.
func LearnDefaults(d *dataset.Dataset) mcond.Options {
	labelled := 0
	for _, y := range d.Original().Labels {
		if y >= 0 {
			labelled++
		}
	}
	return mcond.Defaults(labelled)
}

// sgcOf returns W_O of SGC: one of the models, or fitted here.
func (t *task) sgcOf(ctx context.Context, whole []*fitResult, progress Progress) (*fitResult, error) {
	for _, f := range whole {
		if f.model.Name() == modelSGC {
			return f, nil
		}
	}
	return t.fitOriginal(ctx, modelSGC, progress)
}

// judge returns the sum of the accuracies of O→S, S→S and S→O on the support nodes, all joint, in percent.
func (t *task) judge(ctx context.Context, s *mcond.Snapshot, relay *fitResult) (float64, error) {
	c := t.onGraph(t.condensedOf(s))
	small, err := c.fit(ctx, modelSGC, Silent{})
	if err != nil {
		return 0, err
	}
	sum := small.validation
	support := t.support.On(c.M)
	for _, m := range []infer.Model{relay.model, small.model} {
		deployed := plain(m.Joint(c.Adj, preprocess.Ready(c.X), t.pre))
		sum += accuracyOn(deployed, support)
	}
	return sum, nil
}

func (t *task) condensedOf(s *mcond.Snapshot) *condense.Condensation {
	return &condense.Condensation{Synthetic: artifact.Synthetic{Adj: s.Adj, X: s.X, Labels: s.Labels}, M: s.M,
		Attachment: artifact.AttachJoint}
}

// lossProgress reports the losses and the best accuracy of a round with the number of rounds.
func lossProgress(progress Progress, what string) func(mcond.Event) {
	return func(e mcond.Event) {
		if watching, ok := progress.(StageProgress); ok {
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
