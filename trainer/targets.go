package trainer

import (
	"errors"
	"fmt"
	"slices"

	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/fit"
)

// targetMethods are the methods that condense, or measure, a T whose nodes have labels or numbers.
var targetMethods = []string{MethodSolved, MethodCached}

// readTargets prepares a task of labels or numbers: it sets the units of their messages.
func (t *task) readTargets() error {
	switch t.data.Task {
	case target.Classes:
		return nil
	case target.Labels:
		t.units = slices.Repeat([]float64{1}, t.classes())
	case target.Number:
		t.units = fit.UnitsOf(t.original.Targets.Take(t.labelled)).Deviation
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

// checkTask returns an error for a method or an option that does not do the task, by its name. [OwnAuto] means that no
// expert of own features answers, and no propagation is chosen among: both are of classes.
func (t *task) checkTask() error {
	if t.data.Task == target.Classes {
		return nil
	}
	if err := t.data.RequirePlainEdges("task " + t.data.Task.String()); err != nil {
		return err
	}
	o := &t.options
	if !slices.Contains(targetMethods, o.Method) {
		return t.data.Task.Require("method " + o.Method)
	}
	for _, name := range o.Models {
		if a, err := architecture.Lookup(name); err != nil || a.Mix == nil || !a.Linear() {
			return errors.Join(err, t.data.Task.Require("model "+name))
		}
	}
	for _, of := range []struct {
		set        bool
		capability string
	}{
		{len(o.Weights) > 0, "importing weights"}, {o.Choose, "a choice among models (--models auto)"},
		{o.Coverage > 0, target.Abstention}, {o.Own == OwnAlways, "the expert of own features (--own always)"},
		{o.Spread, "a fit with spread (--spread)"}, {o.Indicators > 0, "a weight of indicators (--indicators)"},
		{o.Map, "the map (--map)"},
	} {
		if err := t.data.Task.Require(of.capability); of.set && err != nil {
			return err
		}
	}
	return nil
}

// judge sets the scores of a task of labels or numbers.
func judge(r *eval.Result, d deploy.Row, predictor *infer.Predictor, answer *eval.Answer, set *eval.Set) {
	if set.Task == target.Number {
		r.Numbers = answer.Numbers(set, d.Radius)
		return
	}
	r.Labels = answer.Labels(set)
	r.Reliability = eval.LabelReliability(answer.Probabilities, set.Targets, nil)
	r.ReliabilityBefore = eval.LabelReliability(deploy.Uncalibrated(predictor, answer, set), set.Targets, nil)
	r.ECE.Mean, r.ECEBefore.Mean = eval.ECE(r.Reliability), eval.ECE(r.ReliabilityBefore)
}
