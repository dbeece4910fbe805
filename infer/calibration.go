package infer

import (
	"fmt"
	"math"
	"sync"

	"rivulet/graph"
	"rivulet/infer/propagation"
	"rivulet/infer/target"
)

// Calibration turns logits, and F if there is a propagation, into what is published of the task (section 6). Other
// tasks than classes have no propagation.
type Calibration struct {
	Task        target.Task
	Temperature float32 // τ > 0
	// Temperatures are the τ of each label, of a task of labels; nil: all are 1.
	Temperatures []float32
	Kind         string  // none, or a kind of package propagation
	Alpha        float32 // α of the propagation, 0 < α < 1
	Gamma        float32 // γ ≥ 0
}

// Validate checks ranges.
func (c Calibration) Validate() error {
	switch {
	case !(c.Temperature > 0) || math.IsInf(float64(c.Temperature), 0):
		return fmt.Errorf("calibration.temperature is %v, want a positive number", c.Temperature)
	case c.Kind == propagation.None:
		return nil
	case !propagation.Known(c.Kind):
		return fmt.Errorf("calibration.kind is %q, want %s", c.Kind, propagation.Choices())
	case !(c.Alpha > 0 && c.Alpha < 1):
		return fmt.Errorf("calibration.alpha is %v, want between 0 and 1", c.Alpha)
	case !(c.Gamma >= 0) || math.IsInf(float64(c.Gamma), 0):
		return fmt.Errorf("calibration.gamma is %v, want 0 or more", c.Gamma)
	}
	return nil
}

// expWork is the cost of an exponential, in multiply-adds of a product.
const expWork = 16

// Probabilities returns n×C; f may be nil where Kind is none.
func (c Calibration) Probabilities(logits, f *graph.Dense) *graph.Dense {
	return c.run(logits, f, graph.NewDense(logits.Rows, logits.Cols))
}

// calibrationBatch is a batch that gets its probabilities. Its memory is used again, so that a batch allocates nothing.
type calibrationBatch struct {
	Calibration
	logits, f, out *graph.Dense
}

var calibrationBatches = sync.Pool{New: func() any { return new(calibrationBatch) }}

// run fills out, and returns it.
func (c Calibration) run(logits, f, out *graph.Dense) *graph.Dense {
	if f != nil && (f.Rows != logits.Rows || f.Cols != logits.Cols) {
		panic(fmt.Sprintf("infer: logits of %s with a propagation of %s", shape(logits), shape(f)))
	}
	p := calibrationBatches.Get().(*calibrationBatch)
	*p = calibrationBatch{c, logits, f, out}
	graph.Parallel(out.Rows, expWork*len(out.Data), p)
	*p = calibrationBatch{}
	calibrationBatches.Put(p)
	return out
}

// Rows sets the probabilities of arrivals lo to hi.
func (p *calibrationBatch) Rows(lo, hi int) {
	for i := lo; i < hi; i++ {
		row := p.out.Row(i)
		p.Task.Probabilities(row, p.logits.Row(i), p.Temperature, p.Temperatures)
		if p.f == nil {
			continue
		}
		graph.Axpy(row, p.Gamma, p.f.Row(i))
		for k := range row {
			row[k] = max(row[k], 0)
		}
		normalise(row)
	}
}

// normaliseRows brings every row to sum 1. A row whose sum is not positive carries no labels and becomes 0: all
// labels out of reach, or the small negative weights that tables of S can have.
func normaliseRows(m *graph.Dense) {
	for i := range m.Rows {
		normalise(m.Row(i))
	}
}

// normalise is normaliseRows of one row.
func normalise(row []float32) {
	sum := float32(0)
	for _, v := range row {
		sum += v
	}
	if sum <= 0 {
		clear(row)
		return
	}
	for k := range row {
		row[k] /= sum
	}
}
