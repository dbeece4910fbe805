package solved

import (
	"errors"
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// Names of the sides that stages read.
const (
	SideFactor     = "factor"     // d float32: pre(x) = x̄∘factor − offset
	SideOffset     = "offset"     // d
	SideLargest    = "largest"    // d float64: no value of a column is larger, without sign
	SideWeights    = "weights"    // d×C matrix, of stage fetch
	SideBasis      = "basis"      // d×p matrix on which points are projected; missing: the points are the features
	SideCentres    = "centres"    // N'×p matrix, of points
	SideClasses    = "classes"    // N' int32: the class of each cluster
	SideDictionary = "dictionary" // N'×q matrix
)

// FeatureScaling says how raw features become the model's, except for the global scale, which is not known yet when
// features are propagated; its vectors are the sides factor and offset.
type FeatureScaling struct {
	Kind string `json:"kind"` // of preprocess.Parameters
	// Projected says that pre(X) is projected on the side basis before it is propagated. Sparse features are: their
	// sums over neighbours are as wide as the basis then, and never d columns of mostly zeros.
	Projected bool `json:"projected,omitzero"`
}

// featurePreparer makes rows of pre(X).
type featurePreparer struct {
	kind           string
	factor, offset []float32
	basis          *graph.Dense // of projected features; else nil
}

func newPrepared(o FeatureScaling, sides stage.Sides) (p featurePreparer, err error) {
	p = featurePreparer{kind: o.Kind, factor: wire.ReadFloats(sides[SideFactor]),
		offset: wire.ReadFloats(sides[SideOffset])}
	if len(p.factor) == 0 || len(p.factor) != len(p.offset) {
		return p, fmt.Errorf("%d factors and %d offsets", len(p.factor), len(p.offset))
	}
	if o.Projected {
		p.basis, err = wire.ReadDense(sides[SideBasis])
	}
	return p, err
}

// check returns an error unless features have the width of the preprocessing.
func (p featurePreparer) check(x graph.Features) error {
	if x.Rows() > 0 && x.Cols() != len(p.factor) {
		return fmt.Errorf("%d features, want %d", x.Cols(), len(p.factor))
	}
	return nil
}

// inputs are the preprocessed features of a block, as package infer takes them.
type inputs struct {
	featurePreparer
	raw   graph.Features
	scale float32 // the global one
}

// Project implements [preprocess.Inputs].
func (x inputs) Project(w *graph.Dense) *graph.Dense { return x.times(x.project(x.raw, w)) }

// Matrix implements [preprocess.Inputs].
func (x inputs) Matrix() *graph.Dense { return x.times(x.columns(x.raw)) }

func (x inputs) times(m *graph.Dense) *graph.Dense {
	for k := range m.Data {
		m.Data[k] *= x.scale
	}
	return m
}

// project returns pre(X)·W of a block without the global scale. Sparse rows stay sparse:
//
//	pre(x)·W = x̄·diag(f)W − oᵀW
func (p featurePreparer) project(x graph.Features, w *graph.Dense) *graph.Dense {
	if x.Sparse == nil {
		return graph.MulDense(p.columns(x), w)
	}
	out, centre := graph.NewDense(x.Rows(), w.Cols), make([]float64, w.Cols)
	folded := graph.NewDense(w.Rows, w.Cols)
	for c := range w.Rows {
		for k, v := range w.Row(c) {
			folded.Row(c)[k] = float32(p.factor[c] * v)
			centre[k] += float64(float64(p.offset[c]) * float64(v))
		}
	}
	for i := range out.Rows {
		row, scale := out.Row(i), rowScale(p.kind, x, i)
		x.Each(i, func(c int, v float32) {
			v = float32(v * scale)
			for k, of := range folded.Row(c) {
				row[k] += float32(v * of)
			}
		})
		for k, v := range centre {
			row[k] -= float32(v)
		}
	}
	return out
}

// rows returns pre(X) of a block without the global scale, dense: in d columns, or in the basis' columns.
func (p featurePreparer) rows(x graph.Features) (*graph.Dense, error) {
	if err := p.check(x); err != nil {
		return nil, err
	}
	if p.basis != nil {
		return p.project(x, p.basis), nil
	}
	return p.columns(x), nil
}

// columns returns pre(X) of a block in d columns.
func (p featurePreparer) columns(x graph.Features) *graph.Dense {
	out := graph.NewDense(x.Rows(), len(p.factor))
	for i := range out.Rows {
		row := out.Row(i)
		scale := rowScale(p.kind, x, i)
		x.Each(i, func(c int, v float32) { row[c] = float32(v * scale) })
		for k := range row {
			row[k] = float32(row[k]*p.factor[k]) - p.offset[k]
		}
	}
	return out
}

// rowScale is the preprocessing's factor for a raw row.
func rowScale(kind string, x graph.Features, i int) float32 {
	sum := 0.0
	switch kind {
	case preprocess.L2Center:
		x.Each(i, func(_ int, v float32) { sum += float64(float64(v) * float64(v)) })
		if sum == 0 {
			return 1
		}
		return float32(1 / math.Sqrt(sum))
	case preprocess.L1:
		x.Each(i, func(_ int, v float32) { sum += math.Abs(float64(v)) })
		return float32(1 / max(1, sum))
	}
	return 1
}

// degrees are a block's degrees, with the scales that follow from them.
type degrees struct {
	of   []int32
	sums []float32 // the same, as package infer has degrees
	inv  []float32 // D^-½, D = degree+1
}

func newDegrees(payload []byte) (*degrees, error) {
	of, err := partition.ReadDegrees(payload)
	if err != nil {
		return nil, err
	}
	n := len(of)
	d := &degrees{of: of, sums: make([]float32, n)}
	for j, degree := range of {
		d.sums[j] = float32(degree)
	}
	d.inv = graph.InvSqrt(d.sums, 1)
	return d, nil
}

// weight is w_j = deg_j + 0.1, how often an arrival meets node j.
func (d *degrees) weight(j int) float64 { return float64(float32(d.of[j]) + 0.1) }

// namedPayloads are the payloads of a key whose input 0 are names, and these; nil if the key has no nodes.
func namedPayloads(in stage.Records, tags int) (*partition.Names, [][]byte, error) {
	p, err := stage.Payloads(in, tags)
	if err != nil || p[0] == nil {
		return nil, nil, err
	}
	names, err := partition.ReadNames(p[0])
	return names, p, err
}

// StageMoments is the name of the stage of the preprocessing.
const StageMoments = "moments"

// moments adds up the columns of x̄ and their squares: a record a block at key 0, the number of rows and two
// sums a column.
type moments struct {
	FeatureScaling
	scales, squares []stage.Scale
}

func newMoments(o FeatureScaling, sides stage.Sides) (_ stage.Function, err error) {
	f := &moments{FeatureScaling: o}
	f.scales, f.squares, err = momentScales(wire.ReadDoubles(sides[SideLargest]))
	return f, err
}

func momentScales(largest []float64) (values, squares []stage.Scale, err error) {
	for _, l := range largest {
		value, err := stage.NewScale(l)
		if err != nil {
			return nil, nil, err
		}
		square, err := stage.NewScale(l * l)
		if err != nil {
			return nil, nil, err
		}
		values, squares = append(values, value), append(squares, square)
	}
	return values, squares, nil
}

// Reduce implements [stage.Function].
func (f *moments) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := stage.Payloads(in, 1)
	if err != nil {
		return err
	}
	x, err := wire.ReadFeatures(p[0])
	if err != nil || x.Rows() == 0 {
		return err
	}
	sums := make([]stage.Sum, 2*len(f.scales))
	if x.Cols() != len(f.scales) {
		return fmt.Errorf("%d features, want %d", x.Cols(), len(f.scales))
	}
	for i := range x.Rows() {
		scale := rowScale(f.Kind, x, i)
		x.Each(i, func(c int, v float32) {
			bar := float64(float32(v * scale))
			n, err1 := f.scales[c].Integer(bar)
			sq, err2 := f.squares[c].Integer(bar * bar)
			sums[2*c].Add(n)
			sums[2*c+1].Add(sq)
			if e := errors.Join(err1, err2); e != nil && err == nil {
				err = fmt.Errorf("block %d, place %d, feature %d: %w", key, i, c, e)
			}
		})
	}
	if err != nil {
		return err
	}
	payload := wire.AppendNumber(nil, x.Rows())
	for _, s := range sums {
		payload = s.Append(payload)
	}
	return out.Emit(0, stage.Record{Order: stage.OrderOf(key), Payload: payload})
}

// Moments returns the means and variances of the columns of x̄ over T. largest bounds them.
func Moments(records []stage.Record, largest []float64) (mean []float32, variance []float64, err error) {
	d := len(largest)
	values, squares, err := momentScales(largest)
	if err != nil {
		return nil, nil, err
	}
	total, rows := make([]stage.Sum, 2*d), 0
	for _, r := range records {
		w := wire.NewReader(r.Payload)
		rows += w.Number()
		for k := range total {
			s := w.Take(16)
			if s == nil {
				return nil, nil, wire.ErrPayload
			}
			if err := total[k].Plus(stage.ReadSum(s)); err != nil {
				return nil, nil, fmt.Errorf("feature %d: %w", k/2, err)
			}
		}
		if err := w.End(); err != nil {
			return nil, nil, err
		}
	}
	mean, variance = make([]float32, d), make([]float64, d)
	n := float64(rows)
	for c := range d {
		m, sq := total[2*c].Value(values[c])/n, total[2*c+1].Value(squares[c])/n
		mean[c] = float32(m)
		// As in package features: below float32's resolution of the mean there is no variance.
		if v := sq - float64(m*m); v > 1e-12*sq {
			variance[c] = v
		}
	}
	return mean, variance, nil
}
