package solved

import (
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
	SideFactor  = "factor"  // d float32: pre(x) = x̄∘factor − offset
	SideOffset  = "offset"  // d
	SideLargest = "largest" // float64 a column: no value of the column is larger, without sign
)

// featurePreparer makes rows of pre(X).
type featurePreparer struct {
	kind           string // of preprocess.Parameters
	factor, offset []float32
}

func newPrepared(kind string, sides stage.Sides) (p featurePreparer, err error) {
	p = featurePreparer{kind: kind, factor: wire.ReadFloats(sides[SideFactor]),
		offset: wire.ReadFloats(sides[SideOffset])}
	if len(p.factor) == 0 || len(p.factor) != len(p.offset) {
		return p, fmt.Errorf("%d factors and %d offsets", len(p.factor), len(p.offset))
	}
	return p, nil
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
	raw graph.Features
}

// Project implements [preprocess.Inputs].
func (x inputs) Project(w *graph.Dense) *graph.Dense { return x.project(x.raw, w) }

// Matrix implements [preprocess.Inputs].
func (x inputs) Matrix() *graph.Dense { return x.columns(x.raw) }

// project returns pre(X)·W of a block. Sparse rows stay sparse:
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

// degrees are a block's degrees.
type degrees struct {
	of   []int32
	sums []float32 // the same, as package infer has degrees
}

func newDegrees(payload []byte) (*degrees, error) {
	of, err := partition.ReadDegrees(payload)
	if err != nil {
		return nil, err
	}
	d := &degrees{of: of, sums: make([]float32, len(of))}
	for j, degree := range of {
		d.sums[j] = float32(degree)
	}
	return d, nil
}

// namedPayloads are the payloads of a key whose input 0 are names, and these; nil if the key has no nodes.
func namedPayloads(in stage.Records, tags int) (*partition.Names, [][]byte, error) {
	p, err := stage.Payloads(in, tags)
	if err != nil || p[0] == nil {
		return nil, nil, err
	}
	names, err := partition.ReadNames(p[0])
	return names, p, err
}
