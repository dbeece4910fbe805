package solved

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
)

// Names of the stages of label and error propagation.
const (
	StageSeeds  = "seeds"
	StageSpread = "spread"
	StageGather = "gather"
)

// SpreadOptions are the options of the stages of label and error propagation.
type SpreadOptions struct {
	Preparing
	Classes []string `json:"classes"`
	// Models is the number of models, each with its errors. TwoHops is the one whose logits follow from the features,
	// the sums of the hops and the sides weights and bias; -1: none. Those of the others are stored.
	Models  int `json:"models"`
	TwoHops int `json:"twoHops"`
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

// right returns the scales of the sums MᵀwU: u of the next hop is (Σ_k V_k/√D_k + u)/(D_j+1), so that no u is above 1 either.
func (o *SpreadOptions) right() ([]stage.Scale, error) {
	s, err := stage.NewScale(float64(o.Degree+1) * float64(o.Entry) * 1.001)
	return slices.Repeat([]stage.Scale{s}, o.columns()), err
}

// spreading is shared by the stages of propagation. The state of a block of T is V^t = Â^t F0, and beside it Ṽ^t, the
// same for a node that has met one neighbour more (docs/algorithm.md, section 6, with α = 1). Each is as wide as F0, in
// which that of label propagation and that of error propagation of each model stand side by side.
type spreading struct {
	SpreadOptions
	hop, sums []stage.Scale
}

func newSpreading(options json.RawMessage) (spreading, error) {
	o, err := decode[SpreadOptions](options)
	if err != nil {
		return spreading{}, err
	}
	f := spreading{SpreadOptions: o}
	var errs [2]error
	f.hop, errs[0] = o.hops()
	f.sums, errs[1] = o.right()
	return f, errors.Join(errs[:]...)
}

// emit writes the state of a block (output 0), what it adds to MᵀwU of the table u_j = Ṽ_j/√(D_j+1) (output 1, key 0)
// and the rows of u of places (output 2).
func (f *spreading) emit(key int64, state *graph.Dense, d *degrees, mapping []byte, places []int32,
	out stage.Output) error {
	m, err := ReadMapping(mapping)
	if err != nil {
		return err
	}
	if m.Rows != state.Rows || len(d.of) != state.Rows {
		return fmt.Errorf("block %d: %d rows of M and %d degrees for %d nodes", key, m.Rows, len(d.of), state.Rows)
	}
	columns := state.Cols / 2
	right, u := newGroups(f.sums), make([]float32, columns)
	table := func(j int) []float32 {
		for k, v := range state.Row(j)[columns:] {
			u[k] = d.met[j] * v
		}
		return u
	}
	for j := range m.Rows {
		cols, vals := m.Row(j)
		row := table(j)
		for at, c := range cols {
			weight, sums := float64(d.weight(j)*float64(vals[at])), right.row(c)
			for k, v := range row {
				sums.add(k, weight*float64(v))
			}
		}
	}
	if err := errors.Join(right.emit(1, key, out),
		out.Emit(0, stage.Record{Key: key, Payload: appendDense(state)})); err != nil || len(places) == 0 {
		return err
	}
	asked := graph.NewDense(len(places), columns)
	for i, j := range places {
		if int(j) >= state.Rows {
			return fmt.Errorf("block %d: place %d of %d", key, j, state.Rows)
		}
		copy(asked.Row(i), table(int(j)))
	}
	payload := append(appendInts(appendNumber(nil, len(places)), places), appendDense(asked)...)
	return out.Emit(2, stage.Record{Key: key, Payload: payload})
}

// withPlaces are the payloads of a key's records by tag, and the places that records of the last tag ask for, each
// once, ascending.
func withPlaces(in stage.Records, tags int) (p [][]byte, places []int32, err error) {
	p = make([][]byte, tags)
	err = each(in, func(r stage.Record) error {
		switch {
		case int(r.Tag) == tags-1:
			places = append(places, readInts(r.Payload)...)
		case int(r.Tag) >= tags || p[r.Tag] != nil:
			return fmt.Errorf("input %d has a record too many", r.Tag)
		default:
			p[r.Tag] = r.Payload
		}
		return nil
	})
	slices.Sort(places)
	return p, slices.Compact(places), err
}

// seeds makes F0 of the nodes of T: of a labelled node the one-hot row of its class, and of each model that less its
// probabilities on T alone. Inputs: 0 names, 1 features, 2 degrees, 3 and 4 the sums of the hops, 5 rows of M, then the
// logits that are stored, a table a model, and at last places.
type seeds struct {
	prepared
	spreading
	weights *graph.Dense
	bias    []float32
	index   map[string]int
}

func newSeeds(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	f := &seeds{bias: readVector(sides[SideBias]), index: map[string]int{}}
	var errs [3]error
	f.spreading, errs[0] = newSpreading(options)
	f.prepared, errs[1] = newPrepared(f.Preparing, sides)
	if f.TwoHops >= 0 {
		f.weights, errs[2] = readMatrix(sides[SideWeights])
	}
	for k, name := range f.Classes {
		f.index[name] = k
	}
	return f, errors.Join(errs[:]...)
}

// firstLogits is the first input of stage seeds that has logits.
const firstLogits = 6

// stored is the number of models whose logits are stored.
func (o *SpreadOptions) stored() int {
	if o.TwoHops >= 0 {
		return o.Models - 1
	}
	return o.Models
}

// Reduce implements [stage.Function].
func (f *seeds) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, places, err := withPlaces(in, firstLogits+f.stored()+1)
	if err != nil || p[0] == nil {
		return err
	}
	names, err := ReadNames(p[0])
	if err != nil {
		return err
	}
	d, err := newDegrees(p[2])
	if err != nil {
		return err
	}
	logits, err := f.logits(p)
	if err != nil {
		return fmt.Errorf("block %d: %w", key, err)
	}
	classes, columns := len(f.Classes), f.columns()
	state := graph.NewDense(len(d.of), 2*columns)
	for j := range state.Rows {
		y, ok := f.index[names.Labels[j]]
		if names.Roles[j] != Train || !ok {
			continue
		}
		row := state.Row(j)
		row[y] = 1
		for m := range logits {
			errs := row[(1+m)*classes : (2+m)*classes]
			softmax(errs, logits[m].Row(j))
			for k := range errs {
				errs[k] = -errs[k]
			}
			errs[y]++
		}
		copy(row[columns:], row[:columns])
	}
	return f.emit(key, state, d, p[5], places, out)
}

// logits are those of the nodes of a block, of each model.
func (f *seeds) logits(p [][]byte) ([]*graph.Dense, error) {
	out := make([]*graph.Dense, 0, f.Models)
	at := firstLogits
	for m := range f.Models {
		if m == f.TwoHops {
			b, err := f.block(p[1], p[2], p[3], p[4])
			if err != nil {
				return nil, err
			}
			out = append(out, graph.MulDense(b.two(), f.weights).AddRow(f.bias))
			continue
		}
		of, err := dense(p[at])
		if err != nil {
			return nil, err
		}
		out = append(out, of)
		at++
	}
	for _, of := range out {
		if of.Rows != out[0].Rows || of.Cols != len(f.Classes) {
			return nil, fmt.Errorf("logits of %d×%d, want %d rows and %d classes", of.Rows, of.Cols, out[0].Rows,
				len(f.Classes))
		}
	}
	return out, nil
}

// softmax writes the softmax of logits to p, with the same bits on every processor.
func softmax(p, logits []float32) {
	highest, sum := float64(slices.Max(logits)), 0.0
	for _, l := range logits {
		sum += exponential(float64(l) - highest)
	}
	for k, l := range logits {
		p[k] = float32(exponential(float64(l)-highest) / sum)
	}
}

// exponential returns e^x of an x of at most 0: the one of package math has other last bits on other processors. With x =
// k·ln 2 + r, |r| ≤ (ln 2)/2, it is 2^k times the Taylor series of e^r to the 13th power, the rest of which is
// below 1e-17.
func exponential(x float64) float64 {
	if x < -700 {
		return 0
	}
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // of ln 2; k·high is exact
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := float64(x-float64(k*high)) - float64(k*low)
	series := 1.0
	for n := 13; n > 0; n-- {
		series = 1 + float64(float64(r*series)/float64(n))
	}
	return math.Ldexp(series, int(k))
}

// spreadSender sends V/√D. Inputs: 1 the state, 2 degrees.
type spreadSender struct{ spreading }

func newSpread(options json.RawMessage, _ stage.Sides) (stage.Function, error) {
	f, err := newSpreading(options)
	return scatter{&spreadSender{f}}, err
}

func (s *spreadSender) scales() []stage.Scale { return s.hop }

func (s *spreadSender) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := payloads(in, 3)
	if err != nil {
		return nil, err
	}
	state, d, err := s.state(p[1], p[2])
	if err != nil {
		return nil, err
	}
	v := &stage.Vectors{Rows: state.Rows, Cols: len(s.hop), Units: make([]int64, state.Rows*len(s.hop))}
	for j := range v.Rows {
		to := v.Row(j)
		for k := range to {
			if to[k], err = s.hop[k].Integer(float64(state.Row(j)[k] * d.inv[j])); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// state reads the state of a block and its degrees.
func (f *spreading) state(payload, degree []byte) (*graph.Dense, *degrees, error) {
	state, d, err := stateOf(payload, degree)
	if err == nil && state.Cols != 2*f.columns() {
		err = fmt.Errorf("a state of %d columns, want %d", state.Cols, 2*f.columns())
	}
	return state, d, err
}

// spreadGather takes the state of a block to the next hop. Inputs: 0 messages, 1 the state, 2 degrees, 3 rows of M,
// 4 places.
type spreadGather struct{ spreading }

func newSpreadGather(options json.RawMessage, _ stage.Sides) (stage.Function, error) {
	f, err := newSpreading(options)
	return &spreadGather{f}, err
}

// Reduce implements [stage.Function].
func (f *spreadGather) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, f.hop, key, in, out)
}

// Gather implements [stage.Gatherer].
func (f *spreadGather) Gather(key int64, in stage.Records) (stage.Gathering, error) {
	p, places, err := withPlaces(in, 5)
	if err != nil {
		return nil, err
	}
	state, d, err := f.state(p[1], p[2])
	if err != nil {
		return nil, err
	}
	sums := &featureSums{f.hop, key, state.Rows, make([]int64, state.Rows*len(f.hop))}
	return &spreadSums{sums, f, state, d, p[3], places}, nil
}

type spreadSums struct {
	*featureSums
	f       *spreadGather
	state   *graph.Dense
	degrees *degrees
	mapping []byte
	places  []int32
}

// Bytes implements [stage.Gathering].
func (g *spreadSums) Bytes() int64 {
	return g.featureSums.Bytes() + int64(4*len(g.state.Data)+16*g.rows+len(g.mapping))
}

// End implements [stage.Gathering]:
//
//	V_j ← (Σ_k V_k/√D_k + V_j/√D_j)/√D_j    Ṽ_j ← (Σ_k V_k/√D_k + Ṽ_j/√(D_j+1))/√(D_j+1)
func (g *spreadSums) End(out stage.Output) error {
	columns := len(g.scale)
	for j := range g.state.Rows {
		plain, met := g.state.Row(j)[:columns], g.state.Row(j)[columns:]
		for k := range columns {
			sum := float32(float64(g.sums[j*columns+k]) * g.scale[k].Unit())
			plain[k] = (sum + float32(plain[k]*g.degrees.inv[j])) * g.degrees.inv[j]
			met[k] = (sum + float32(met[k]*g.degrees.met[j])) * g.degrees.met[j]
		}
	}
	return g.f.emit(g.key, g.state, g.degrees, g.mapping, g.places, out)
}

// SpreadRight adds up MᵀwU of a hop, N'×(1+models)C, of label propagation and of each model's error propagation side by
// side.
func SpreadRight(o SpreadOptions, records []stage.Record) ([]float64, error) {
	scale, err := o.right()
	if err != nil {
		return nil, err
	}
	rows := make([][]stage.Sum, o.Clusters)
	for _, r := range records {
		if err := addGroups(r.Payload, rows, len(scale)); err != nil {
			return nil, err
		}
	}
	out := make([]float64, o.Clusters*len(scale))
	for c, row := range rows {
		for k, s := range row {
			out[c*len(scale)+k] = s.Value(scale[k])
		}
	}
	return out, nil
}
