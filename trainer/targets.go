package trainer

import (
	"fmt"
	"slices"

	"rivulet/infer"
	"rivulet/infer/target"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
)

// readTargets prepares a task of labels, numbers or links: it sets the units of their messages. [OwnAuto] means that no expert
// of own features answers, and no propagation is chosen among: both are of classes.
func (t *task) readTargets() error {
	switch t.data.Task {
	case target.Classes:
		return nil
	case target.Labels:
		t.units = slices.Repeat([]float64{1}, t.classes())
	case target.Number:
		t.units = fit.UnitsOf(t.original.Targets.Take(t.labelled)).Deviation
	case target.Links: // one unit for all coordinates, as scores are sums over them
		t.units = slices.Repeat([]float64{fit.UnitsOf(t.original.Targets.Take(t.labelled)).Length()}, t.classes())
	}
	for _, nodes := range [][]int32{t.data.Validation, t.data.Test} {
		for _, i := range nodes {
			if t.data.Labels[i] < 0 {
				return fmt.Errorf("node %.100q has no %s, and is among those that are measured", t.data.IDs[i], t.data.Task)
			}
		}
	}
	return nil
}

// judge sets the scores of a task of labels, numbers or links.
func judge(r *eval.Result, d deploy.Row, predictor *infer.Predictor, answer *eval.Answer, set *eval.Set) {
	switch set.Task {
	case target.Number:
		r.Numbers = answer.Numbers(set, d.Radius)
		return
	case target.Links:
		r.Links = answer.Links(set)
		r.Links.Popularity.Mean, r.Links.AdamicAdar.Mean = set.Queries.Baselines()
		return
	}
	r.Labels = answer.Labels(set)
	r.Reliability = eval.LabelReliability(answer.Probabilities, set.Targets, nil)
	r.ReliabilityBefore = eval.LabelReliability(deploy.Uncalibrated(predictor, answer, set), set.Targets, nil)
	r.ECE.Mean, r.ECEBefore.Mean = eval.ECE(r.Reliability), eval.ECE(r.ReliabilityBefore)
}
