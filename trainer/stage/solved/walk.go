package solved

import (
	"errors"
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// Names of the stages that take a model through its hops on T.
const (
	StageEnter = "enter"
	StageStep  = "step"
	StageTake  = "take"
)

// Outputs of the stages enter and take.
const (
	OutState    = iota // the state for the next hop; after the last one the logits, n×C
	OutPart            // u and columns of c side by side
	OutHighest         // key 0: the largest number, without sign, of each column that is sent next
	WalkOutputs        // how many there are
)

// WalkOptions are the options of the stages enter, step and take.
type WalkOptions struct {
	Kind  string `json:"kind,omitempty"` // of preprocess.Parameters; of stage enter
	Hop   int    `json:"hop"`            // hops before this one
	Terms int64  `json:"terms"`          // the most that are added up for a node
}

// recurrenceStage is shared by these stages. The side largest has the largest values of the sent columns, from output
// OutHighest.
type recurrenceStage struct {
	WalkOptions
	model infer.Model
	hops  *infer.Recurrence
	scale []stage.Scale
}

func newWalking(o WalkOptions, sides stage.Sides) (recurrenceStage, error) {
	m, err := readModel(sides[SideModel])
	if err != nil {
		return recurrenceStage{}, err
	}
	f := recurrenceStage{WalkOptions: o, model: m, hops: m.Recurrence()}
	if o.Hop < 0 || o.Hop >= f.hops.Len() {
		return f, fmt.Errorf("hop is %d, %s has %d", o.Hop, m.Name(), f.hops.Len())
	}
	return f, nil
}

// newReceiving is newWalking with the scales of the numbers that are sent.
func newReceiving(o WalkOptions, sides stage.Sides) (recurrenceStage, error) {
	f, err := newWalking(o, sides)
	if err != nil {
		return f, err
	}
	largest := wire.ReadDoubles(sides[SideLargest])
	if len(largest) != f.hops.Sent(f.Hop) {
		return f, fmt.Errorf("%d largest numbers for the %d columns of hop %d", len(largest), f.hops.Sent(f.Hop), f.Hop)
	}
	f.scale = make([]stage.Scale, len(largest))
	for k, l := range largest {
		if f.scale[k], err = stage.NewScale(l, f.Terms); err != nil {
			return f, fmt.Errorf("hop %d of %s, column %d: %w", f.Hop, f.model.Name(), k, err)
		}
	}
	return f, nil
}

// emit writes the state before a hop, and the part of the tables that was made with it.
func (f *recurrenceStage) emit(key int64, hop int, state *infer.State, part *graph.Dense, d *degrees,
	out stage.Output) error {
	sent := f.hops.Send(hop, state, d.sums)
	highest := make([]float64, sent.Cols)
	for j := range sent.Rows {
		for k, v := range sent.Row(j) {
			if size := math.Abs(float64(v)); !(size <= highest[k]) { // NaN too
				highest[k] = size
			}
		}
	}
	return errors.Join(out.Emit(OutState, stage.Record{Key: key, Payload: wire.AppendDense(nil, state.Beside())}),
		out.Emit(OutPart, stage.Record{Key: key, Payload: wire.AppendDense(nil, part)}),
		out.Emit(OutHighest, stage.Record{Order: stage.OrderOf(key), Payload: wire.AppendDoubles(nil, highest)}))
}

// Highest merges output OutHighest of all blocks: the largest numbers of the columns that are sent in a model's next
// hop. NaN and infinity are errors.
func Highest(m infer.Model, hop int, records []stage.Record) ([]float64, error) {
	all := make([]float64, m.Recurrence().Sent(hop))
	for _, r := range records {
		of := wire.ReadDoubles(r.Payload)
		if len(of) != len(all) {
			return nil, wire.ErrPayload
		}
		for k, v := range of {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%s: an answer of a node in block %d before hop %d is %v: its weights are too large",
					m.Name(), stage.FromOrder(r.Order), hop, v)
			}
			all[k] = max(all[k], v)
		}
	}
	return all, nil
}

// WalkHops is the number of hops that a model makes on T to its logits. One less makes its tables.
func WalkHops(m infer.Model) int { return m.Recurrence().Len() }

// enter makes the state before the first hop. Inputs: 0 features, 1 degrees.
type enter struct {
	featurePreparer
	recurrenceStage
}

func newEnter(o WalkOptions, sides stage.Sides) (stage.Function, error) {
	f := &enter{}
	var errs [2]error
	f.recurrenceStage, errs[0] = newWalking(o, sides)
	f.featurePreparer, errs[1] = newPrepared(f.Kind, sides)
	return f, errors.Join(errs[:]...)
}

// Reduce implements [stage.Function].
func (f *enter) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := stage.Payloads(in, 2)
	if err != nil || p[0] == nil {
		return err
	}
	raw, err := wire.ReadFeatures(p[0])
	if err != nil {
		return err
	}
	d, err := newDegrees(p[1])
	if err != nil {
		return err
	}
	if err := f.check(raw); err != nil {
		return err
	}
	if len(d.of) != raw.Rows() {
		return fmt.Errorf("block %d: %d degrees for %d nodes", key, len(d.of), raw.Rows())
	}
	state, part := f.hops.Enter(inputs{f.featurePreparer, raw}, d.sums)
	return f.emit(key, 0, state, part, d, out)
}

// stateSender sends the messages of a hop: the first columns of a node's state, as the operator scales them. Inputs: 1
// the state, 2 degrees.
type stateSender struct {
	hops  *infer.Recurrence
	hop   int
	scale []stage.Scale
}

func newStep(o WalkOptions, sides stage.Sides) (stage.Function, error) {
	f, err := newReceiving(o, sides)
	return scatter{&stateSender{f.hops, f.Hop, f.scale}}, err
}

func (s *stateSender) scales() []stage.Scale { return s.scale }

func (s *stateSender) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := stage.Payloads(in, 3)
	if err != nil {
		return nil, err
	}
	state, d, err := stateOf(s.hops, s.hop, p[1], p[2])
	if err != nil {
		return nil, err
	}
	return integers(s.hops.Send(s.hop, state, d.sums), s.scale)
}

// integers are the rows of a matrix in integers of the scales of its columns.
func integers(m *graph.Dense, scale []stage.Scale) (v *stage.Vectors, err error) {
	v = &stage.Vectors{Rows: m.Rows, Cols: m.Cols, Units: make([]int64, len(m.Data))}
	for j := range v.Rows {
		to := v.Row(j)
		for k, value := range m.Row(j) {
			if to[k], err = scale[k].Integer(float64(value)); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// stateOf reads the state of a block before a hop, and its degrees.
func stateOf(hops *infer.Recurrence, hop int, payload, degree []byte) (*infer.State, *degrees, error) {
	all, err := wire.ReadDense(payload)
	if err != nil {
		return nil, nil, err
	}
	d, err := newDegrees(degree)
	if err != nil {
		return nil, nil, err
	}
	if all.Rows != len(d.of) || all.Cols != hops.Columns(hop) {
		return nil, nil, fmt.Errorf("a state of %d×%d for %d nodes and %d columns", all.Rows, all.Cols, len(d.of),
			hops.Columns(hop))
	}
	return hops.Split(hop, all), d, nil
}

// take makes the next state of a block. Inputs: 0 messages, 1 the state, 2 degrees.
type take struct{ recurrenceStage }

func newTake(o WalkOptions, sides stage.Sides) (stage.Function, error) {
	f, err := newReceiving(o, sides)
	return &take{f}, err
}

// Reduce implements [stage.Function].
func (f *take) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, f.scale, key, in, out)
}

// Gather implements [stage.Gatherer].
func (f *take) Gather(key int64, in stage.Records) (stage.BlockSums, error) {
	p, err := stage.Payloads(in, 3)
	if err != nil {
		return nil, err
	}
	state, d, err := stateOf(f.hops, f.Hop, p[1], p[2])
	if err != nil {
		return nil, err
	}
	// The sums, the state, and the next state.
	return &stateSums{newFeatureSums(f.scale, key, len(d.of)), 12*f.hops.Columns(f.Hop) + 16,
		func(sums *graph.Dense, out stage.Output) error {
			if f.Hop+1 == f.hops.Len() {
				logits := f.hops.Close(state, sums, d.sums)
				return out.Emit(OutState, stage.Record{Key: key, Payload: wire.AppendDense(nil, logits)})
			}
			state, part := f.hops.Step(f.Hop, state, sums, d.sums)
			return f.emit(key, f.Hop+1, state, part, d, out)
		}}, nil
}

// stateSums are the sums by which the states of a block come to the next hop: end makes and writes them.
type stateSums struct {
	*featureSums
	perRow int // bytes beside the sums
	end    func(sums *graph.Dense, out stage.Output) error
}

// Bytes implements [stage.BlockSums].
func (g *stateSums) Bytes() int64 { return g.featureSums.Bytes() + int64(g.perRow*g.rows) }

// End implements [stage.BlockSums].
func (g *stateSums) End(out stage.Output) error { return g.end(g.values(), out) }
