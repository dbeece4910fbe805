package trainer

import (
	"fmt"

	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/trainer/search"
)

// readTargets prepares a task with targets: it sets the units of their messages.
func (t *T) readTargets(d *dataset.Dataset) error {
	if t.Targets == nil {
		return nil
	}
	t.units = t.task.Units(t.Targets.Take(t.labelled))
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
	return t.links.ChooseShare(m, m.Tables(t.Edges, t.inputs, t.slots.Made()...), t.slots.Made(), func() (float64, error) {
		p, err := frozen(t, t.itself(), m)
		if err != nil {
			return 0, err
		}
		return search.Accuracy(p.Plain(), p.On(h.judges)), nil
	})
}
