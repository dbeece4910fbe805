package solved

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// Names of the stages of label and error propagation.
const (
	StageSeeds  = "seeds"
	StageSpread = "spread"
	StageGather = "gather"
)

// SpreadOptions are the options of the stages of label and error propagation.
type SpreadOptions struct {
	Classes []string `json:"classes"`
	// Models is the number of models, each with its errors.
	Models int `json:"models"`
	// Degree is the highest of a node, which bounds the sums.
	Degree int64 `json:"degree"`
}

// columns is the number of columns of F0: labels, and errors of each model, C wide each.
func (o *SpreadOptions) columns() int { return (1 + o.Models) * len(o.Classes) }

// propagationStage is shared by the stages of propagation: F0 of label propagation and of the error propagation of each
// model, side by side, in [infer.PropagationRecurrence] (docs/algorithm.md, section 6, with α = 1). All its hops are
// alike, so that each is made as hop 0.
type propagationStage struct {
	SpreadOptions
	hops *infer.Recurrence
	hop  []stage.Scale // of the columns that are sent
}

// newSpreading makes the scales of a hop. No value of F0 is above 1, nor is any of V = Â^t F0/√D: it is the sum of
// deg_j + 1 values of at most 1, over D_j = deg_j + 1. A little is added for rounding.
func newSpreading(o SpreadOptions) (propagationStage, error) {
	scale, err := stage.NewScale(1+1e-4, o.Degree+1)
	return propagationStage{SpreadOptions: o, hops: infer.PropagationRecurrence(o.columns()),
		hop: slices.Repeat([]stage.Scale{scale}, o.columns())}, err
}

// emit writes the state of a block (output 0), and the rows of its table u of places (output 1).
func (f *propagationStage) emit(key int64, state *infer.State, u *graph.Dense, places []int32, out stage.Output) error {
	err := out.Emit(0, stage.Record{Key: key, Payload: wire.AppendDense(nil, state.Beside())})
	if err != nil || len(places) == 0 {
		return err
	}
	payload, err := appendPlaces(key, places, u.Rows)
	if err != nil {
		return err
	}
	return out.Emit(1, stage.Record{Key: key, Payload: append(payload, wire.AppendDense(nil, u.Take(places))...)})
}

// seeds makes F0 of the nodes of T: of a labelled node the one-hot row of its class, and of each model that less its
// probabilities on T alone. Inputs: 0 names, 1 degrees, then the logits of each model, and at last places.
type seeds struct {
	propagationStage
	index map[string]int
}

func newSeeds(o SpreadOptions, _ stage.Sides) (stage.Function, error) {
	f := &seeds{index: map[string]int{}}
	var err error
	f.propagationStage, err = newSpreading(o)
	for k, name := range f.Classes {
		f.index[name] = k
	}
	return f, err
}

// firstLogits is the first input of stage seeds that has logits.
const firstLogits = 2

// Reduce implements [stage.Function].
func (f *seeds) Reduce(key int64, in stage.Records, out stage.Output) error {
	places, p, err := asked(in, firstLogits+int32(f.Models))
	if err != nil || p[0] == nil {
		return err
	}
	names, err := partition.ReadNames(p[0])
	if err != nil {
		return err
	}
	d, err := newDegrees(p[1])
	if err != nil {
		return err
	}
	logits, err := f.logits(p)
	if err != nil {
		return fmt.Errorf("block %d: %w", key, err)
	}
	labels := make([]int32, len(d.of))
	for j := range labels {
		y, ok := f.index[names.Labels[j]]
		if labels[j] = int32(y); names.Roles[j] != partition.Train || !ok {
			labels[j] = -1
		}
	}
	f0 := []*graph.Dense{infer.LabelSeeds(labels, len(f.Classes))}
	for _, of := range logits {
		f0 = append(f0, infer.PortableErrorSeeds(labels, of))
	}
	state, u := f.hops.EnterSeeds(graph.Beside(f0...), d.sums)
	return f.emit(key, state, u, places, out)
}

// logits are the logits of a block's nodes, by model.
func (f *seeds) logits(p map[int32][]byte) ([]*graph.Dense, error) {
	out := make([]*graph.Dense, f.Models)
	for m := range out {
		of, err := wire.ReadDense(p[firstLogits+int32(m)])
		if err != nil {
			return nil, err
		}
		if out[m] = of; of.Rows != out[0].Rows || of.Cols != len(f.Classes) {
			return nil, fmt.Errorf("logits of %d×%d, want %d rows and %d classes", of.Rows, of.Cols, out[0].Rows, len(f.Classes))
		}
	}
	return out, nil
}

// newSpread sends V/√D.
func newSpread(o SpreadOptions, _ stage.Sides) (stage.Function, error) {
	f, err := newSpreading(o)
	return scatter{&stateSender{f.hops, 0, f.hop}}, err
}

// spreadGather takes the state of a block to the next hop. Inputs: 0 messages, 1 the state, 2 degrees, 3 places.
type spreadGather struct{ propagationStage }

func newSpreadGather(o SpreadOptions, _ stage.Sides) (stage.Function, error) {
	f, err := newSpreading(o)
	return &spreadGather{f}, err
}

// Reduce implements [stage.Function].
func (f *spreadGather) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, f.hop, key, in, out)
}

// Gather implements [stage.Gatherer].
func (f *spreadGather) Gather(key int64, in stage.Records) (stage.BlockSums, error) {
	places, p, err := asked(in, 3)
	if err != nil {
		return nil, err
	}
	state, d, err := stateOf(f.hops, 0, p[1], p[2])
	if err != nil {
		return nil, err
	}
	return &stateSums{newFeatureSums(f.hop, key, len(d.of)), 4*f.hops.Columns(0) + 16,
		func(sums *graph.Dense, out stage.Output) error {
			state, u := f.hops.Step(0, state, sums, d.sums)
			return f.emit(key, state, u, places, out)
		}}, nil
}
