package trainer

import (
	"errors"
	"fmt"
	"slices"

	"rivulet/infer/architecture"
	"rivulet/infer/target"
	"rivulet/trainer/fit"
)

// numberMethods are the methods that condense, or measure, a T whose nodes have numbers.
var numberMethods = []string{MethodSolved, MethodCached}

// readNumbers prepares a task of numbers: it measures their units on T.
func (t *task) readNumbers() error {
	if t.data.Task == target.Classes {
		return nil
	}
	t.units = fit.UnitsOf(t.original.Targets.Take(t.labelled)).Deviation
	for _, nodes := range [][]int32{t.data.Validation, t.data.Test} {
		for _, i := range nodes {
			if t.data.Labels[i] < 0 {
				return fmt.Errorf("node %.100q has no number, and is among those that are measured", t.data.IDs[i])
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
	if err := t.data.RequirePlainEdges("task number"); err != nil {
		return err
	}
	o := &t.options
	if !slices.Contains(numberMethods, o.Method) {
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
		{o.Coverage > 0, "abstention (--coverage)"}, {o.Own == OwnAlways, "the expert of own features (--own always)"},
		{o.Spread, "a fit with spread (--spread)"}, {o.Indicators > 0, "a weight of indicators (--indicators)"},
		{o.Map, "the map (--map)"},
	} {
		if of.set {
			return t.data.Task.Require(of.capability)
		}
	}
	return nil
}
