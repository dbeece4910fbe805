package trainer

import (
	"context"
	"fmt"

	"rivulet/trainer/mcond"
)

// condenseGCond learns S only; models fitted on it are deployed on T.
func (t *task) condenseGCond(ctx context.Context, _ []*fitted, progress Progress) (condensed, error) {
	in := t.learnInput()
	in.Validate = func(s *mcond.Snapshot) (float64, error) {
		small, err := t.onGraph(t.condensedOf(s)).fit(ctx, modelSGC, Silent{})
		if err != nil {
			return 0, err
		}
		return small.validation, nil
	}
	o, _, err := t.learnOptions(ctx, in, progress)
	if err != nil {
		return nil, err
	}
	result, err := mcond.GCond(ctx, in, o, lossProgress(progress, "learning S"))
	if err != nil {
		return nil, fmt.Errorf("learning S: %w", err)
	}
	out := t.onGraph(t.condensedOf(&result.Snapshot))
	out.trace = &Learned{Options: o, Result: result, Labels: t.original.Labels}
	return out, nil
}
