package oracle

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"

	"rivulet/artifact"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/serving"
)

// version is a Model read from an artifact, without any service.
type version struct {
	*serving.Version
}

// ReadVersion reads the version of an artifact.
func ReadVersion(dir string) (Model, error) {
	bundle, err := artifact.Read(dir)
	if err != nil {
		return nil, err
	}
	v, _, err := serving.New(bundle, mapping.FromBundle(bundle), serving.Options{Growth: serving.GrowthOptions{On: true}})
	if err != nil {
		return nil, err
	}
	return version{v}, nil
}

// Numbers returns a hash of the numbers of a prediction.
func Numbers(p *event.Prediction) uint64 {
	data := binary.LittleEndian.AppendUint32(append([]byte(p.ClassName), 0, byte(p.Class), byte(p.Class>>8)),
		math.Float32bits(p.Probability))
	for _, v := range p.Logits {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return xxhash.Sum64(data)
}

// Rows implements [Model].
func (v version) Rows(ids []string) []attach.Row {
	rows := make([]attach.Row, len(ids))
	if err := v.Version.Rows(context.Background(), ids, rows); err != nil {
		panic(err) // rows in memory are always read
	}
	return rows
}

// Predict implements [Model].
func (v version) Predict(a *event.Arrival, choices [][]attach.Row) []uint64 {
	numbers := make([]uint64, len(choices))
	logits, probabilities := v.Version.Predict(v.batch(a, choices))
	for i := range choices {
		row := probabilities.Row(i)
		best := infer.ArgMax(row)
		numbers[i] = Numbers(&event.Prediction{Class: best, ClassName: v.Classes()[best], Probability: row[best],
			Logits: logits.Row(i)})
	}
	return numbers
}

// Grow implements [Model].
func (v version) Grow(a *event.Arrival, rows []attach.Row) attach.Row {
	row := v.Version.Grow(v.batch(a, [][]attach.Row{rows})).Row(0)
	row.Cols, row.Vals = append([]int32(nil), row.Cols...), append([]float32(nil), row.Vals...)
	return row
}

// batch attaches an arrival to each choice of rows.
func (v version) batch(a *event.Arrival, choices [][]attach.Row) *attach.Batch {
	n, d := len(choices), v.Features()
	b := &attach.Batch{}
	if f := a.Features; f.Sparse {
		x := &graph.CSR{Rows: n, Cols: d, RowPtr: []int{0}, Val: []float32{}}
		for range choices {
			x.ColIdx, x.Val = append(x.ColIdx, f.Indices...), append(x.Val, f.Values...)
			x.RowPtr = append(x.RowPtr, len(x.ColIdx))
		}
		b.X = graph.Features{Sparse: x}
	} else {
		x := graph.NewDense(n, d)
		for i := range choices {
			copy(x.Row(i), f.Values)
		}
		b.X = graph.Features{Dense: x}
	}
	b.Attach(choices, v.SyntheticNodes())
	return b
}
