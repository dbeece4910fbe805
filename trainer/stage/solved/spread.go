package solved

import (
	"errors"
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
	// Clusters is N'.
	Clusters int `json:"clusters"`
	// Degree is the highest of a node, and Entry the largest number in M; they bound the sums.
	Degree int64   `json:"degree"`
	Entry  float32 `json:"entry"`
}

// columns is the number of columns of F0: labels, and errors of each model, C wide each.
func (o *SpreadOptions) columns() int { return (1 + o.Models) * len(o.Classes) }

// hops returns the scales of the messages of a hop: no value of F0 is above 1, nor is any of Â^t F0/√D (see hopScales).
func (o *SpreadOptions) hops() ([]stage.Scale, error) {
	return hopScales(slices.Repeat([]float64{1}, o.columns()), o.Degree+1)
}

// right returns the scales of the sums MᵀwU: u of the next hop is (Σ_k V_k/√D_k + u)/(D_j+1), so that no u is above 1
// either.
func (o *SpreadOptions) right() ([]stage.Scale, error) {
	s, err := stage.NewScale(float64(o.Degree+1) * float64(o.Entry) * 1.001)
	return slices.Repeat([]stage.Scale{s}, o.columns()), err
}

// propagationStage is shared by the stages of propagation: F0 of label propagation and of the error propagation of each
// model, side by side, in [infer.PropagationRecurrence] (docs/algorithm.md, section 6, with α = 1). All its hops are
// alike, so that each is made as hop 0.
type propagationStage struct {
	SpreadOptions
	hops      *infer.Recurrence
	hop, sums []stage.Scale
}

func newSpreading(o SpreadOptions) (propagationStage, error) {
	f := propagationStage{SpreadOptions: o, hops: infer.PropagationRecurrence(o.columns())}
	var errs [2]error
	f.hop, errs[0] = o.hops()
	f.sums, errs[1] = o.right()
	return f, errors.Join(errs[:]...)
}

// emit writes the state of a block (output 0), its table u's part of MᵀwU (output 1, key 0) and the rows of u of places
// (output 2).
func (f *propagationStage) emit(key int64, state *infer.State, u *graph.Dense, d *degrees, mapping []byte,
	places []int32,
	out stage.Output) error {
	m, err := wire.ReadMapping(mapping)
	if err != nil {
		return err
	}
	if m.Rows != u.Rows || len(d.of) != u.Rows {
		return fmt.Errorf("block %d: %d rows of M and %d degrees for %d nodes", key, m.Rows, len(d.of), u.Rows)
	}
	right := newGroups(f.sums)
	right.addColumns(d, m, u)
	if err := errors.Join(right.emit(1, key, out),
		out.Emit(0, stage.Record{Key: key, Payload: wire.AppendDense(nil, state.Beside())})); err != nil || len(places) == 0 {
		return err
	}
	payload, err := appendPlaces(key, places, u.Rows)
	if err != nil {
		return err
	}
	return out.Emit(2, stage.Record{Key: key, Payload: append(payload, wire.AppendDense(nil, u.Take(places))...)})
}

// seeds makes F0 of the nodes of T: of a labelled node the one-hot row of its class, and of each model that less its
// probabilities on T alone. Inputs: 0 names, 1 degrees, 2 rows of M, then the logits of each model, and at last places.
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
const firstLogits = 3

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
	return f.emit(key, state, u, d, p[2], places, out)
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

// spreadSender sends V/√D. Inputs: 1 the state, 2 degrees.
type spreadSender struct{ propagationStage }

func newSpread(o SpreadOptions, _ stage.Sides) (stage.Function, error) {
	f, err := newSpreading(o)
	return scatter{&spreadSender{f}}, err
}

func (s *spreadSender) scales() []stage.Scale { return s.hop }

func (s *spreadSender) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := stage.Payloads(in, 3)
	if err != nil {
		return nil, err
	}
	state, d, err := stateOf(s.hops, 0, p[1], p[2])
	if err != nil {
		return nil, err
	}
	return integers(s.hops.Send(0, state, d.sums), s.hop)
}

// spreadGather takes the state of a block to the next hop. Inputs: 0 messages, 1 the state, 2 degrees, 3 rows of M,
// 4 places.
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
	places, p, err := asked(in, 4)
	if err != nil {
		return nil, err
	}
	state, d, err := stateOf(f.hops, 0, p[1], p[2])
	if err != nil {
		return nil, err
	}
	return &spreadSums{newFeatureSums(f.hop, key, len(d.of)), f, state, d, p[3], places}, nil
}

type spreadSums struct {
	*featureSums
	f       *spreadGather
	state   *infer.State
	degrees *degrees
	mapping []byte
	places  []int32
}

// Bytes implements [stage.BlockSums].
func (g *spreadSums) Bytes() int64 {
	return g.featureSums.Bytes() + int64((4*g.f.hops.Columns(0)+16)*g.rows+len(g.mapping))
}

// End implements [stage.BlockSums].
func (g *spreadSums) End(out stage.Output) error {
	state, u := g.f.hops.Step(0, g.state, g.values(), g.degrees.sums)
	return g.f.emit(g.key, state, u, g.degrees, g.mapping, g.places, out)
}

// SpreadRight adds up MᵀwU of a hop, N'×(1+models)C, of label propagation and of each model's error propagation side by
// side.
func SpreadRight(o SpreadOptions, records []stage.Record) ([]float64, error) {
	scale, err := o.right()
	if err != nil {
		return nil, err
	}
	return sideSums(records, o.Clusters, scale)
}
