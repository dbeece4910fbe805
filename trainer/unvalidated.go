package trainer

import (
	"context"
	"errors"
	"fmt"

	"rivulet/dataset"
	"rivulet/trainer/sample"
)

// A run without validation nodes trains on all labels, and has nothing to choose by that the models have not seen. So
//
//   - the weight decay of each model is chosen on a tenth of the labelled training nodes, which are left out of the
//     graph for it; with fewer than [fewestFolded] of them it is [defaultDecay];
//   - temperatures are 1, and no expert of own features and no propagation is chosen among;
//   - what M has to measure on arrivals (the units of its messages) is measured on a tenth of the labelled training
//     nodes as if they arrived again, each alone.

const (
	folds        = 10
	fewestFolded = 50
	defaultDecay = 1e-3
)

// unvalidated returns the data and options of a run without validation nodes. The data's validation nodes are training
// nodes, by which nothing is chosen but the epoch of a model with hidden layers.
func (o Options) unvalidated(ctx context.Context, d *dataset.Dataset, progress Progress) (*dataset.Dataset, Options,
	error) {
	if err := o.Validate(); err != nil {
		return nil, o, err
	}
	if err := o.checkUnvalidated(d); err != nil {
		return nil, o, err
	}
	var labelled []int32
	for _, i := range d.Train {
		if d.Labels[i] >= 0 {
			labelled = append(labelled, i)
		}
	}
	if len(labelled) == 0 {
		return nil, o, errors.New("no labelled training nodes")
	}
	o.Own, o.Propagate, o.noValidation, o.fingerprint = OwnNever, false, true, d.Fingerprint()
	held := sample.Evenly(labelled, max(1, len(labelled)/folds))
	var err error
	if o.decayOf, err = o.foldedDecays(ctx, d, held, len(labelled), progress); err != nil {
		return nil, o, err
	}
	out := *d
	out.Validation = held
	return &out, o, nil
}

// foldedDecays returns the weight decay of each model.
func (o Options) foldedDecays(ctx context.Context, d *dataset.Dataset, held []int32, labelled int,
	progress Progress) (map[string]float64, error) {
	out := map[string]float64{}
	if candidates := o.decays(""); len(candidates) == 1 {
		return out, nil
	}
	for _, name := range o.Models {
		out[name] = defaultDecay
	}
	if labelled < fewestFolded {
		return out, nil
	}
	away := make(map[int32]bool, len(held))
	for _, i := range held {
		away[i] = true
	}
	part := *d
	part.Train, part.Validation, part.Test = nil, held, nil
	for _, i := range d.Train {
		if !away[i] {
			part.Train = append(part.Train, i)
		}
	}
	folded := o
	folded.Nodes, folded.Ratio, folded.noValidation = 0, 0, false
	_, _, r, err := prepare(&part, folded, progress)
	if err != nil {
		return nil, fmt.Errorf("choosing weight decays without a tenth of the training nodes: %w", err)
	}
	for _, name := range o.Models {
		if o.Weights[name] != nil {
			continue
		}
		f, err := r.holder.fit(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("choosing a weight decay without a tenth of the training nodes: %w", err)
		}
		out[name] = f.WeightDecay
	}
	return out, nil
}
