package trainer

import (
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/infer/target"
	"rivulet/trainer/fit"
	"rivulet/trainer/search"
)

// readTargets prepares a task of labels, numbers or links: it sets the units of their messages. [OwnAuto] means that no
// expert of own features answers, and no propagation is chosen among: both are of classes.
func (t *T) readTargets(d *dataset.Dataset) error {
	switch t.task {
	case target.Classes:
		return nil
	case target.Labels:
		t.units = slices.Repeat([]float64{1}, t.Classes())
	case target.Number:
		t.units = fit.UnitsOf(t.Targets.Take(t.labelled)).Deviation
	case target.Links: // one unit for all coordinates, as scores are sums over them
		t.units = slices.Repeat([]float64{fit.UnitsOf(t.Targets.Take(t.labelled)).Length()}, t.Classes())
	}
	for _, nodes := range [][]int32{d.Validation, d.Test} {
		for _, i := range nodes {
			if d.Labels[i] < 0 {
				return fmt.Errorf("node %.100q has no %s, and is among those that are measured", d.IDs[i], t.task)
			}
		}
	}
	return nil
}

// chooseShare chooses by validation how much the vectors of an arrival's known candidates count beside what a model
// says, and returns its MRR on T.
func chooseShare(t *T, h *Held, m infer.Model) (best float64, err error) {
	return t.links.ChooseShare(m, m.Tables(t.read(), t.inputs, t.bins.Weights()...), t.bins, func() (float64, error) {
		p, err := frozen(t, t.itself(), m)
		if err != nil {
			return 0, err
		}
		return search.Accuracy(p.Plain(), p.On(h.judges)), nil
	})
}
