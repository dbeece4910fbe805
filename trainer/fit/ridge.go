package fit

import (
	"context"
	"math"

	"rivulet/graph"
	"rivulet/infer/architecture"
)

// Units are the means and standard deviations of the outputs of a task of numbers.
type Units struct{ Mean, Deviation []float64 }

// UnitsOf measures the units of targets, n×K. An output that is the same everywhere has the deviation 1.
func UnitsOf(targets *graph.Dense) Units {
	u := Units{make([]float64, targets.Cols), make([]float64, targets.Cols)}
	for i := range targets.Rows {
		for k, y := range targets.Row(i) {
			u.Mean[k] += float64(y) / float64(targets.Rows)
		}
	}
	for i := range targets.Rows {
		for k, y := range targets.Row(i) {
			u.Deviation[k] += (float64(y) - u.Mean[k]) * (float64(y) - u.Mean[k]) / float64(targets.Rows)
		}
	}
	for k, v := range u.Deviation {
		if u.Deviation[k] = math.Sqrt(v); v == 0 {
			u.Deviation[k] = 1
		}
	}
	return u
}

// Length is the root mean square of the deviations of all outputs.
func (u Units) Length() float64 {
	sum := 0.0
	for _, v := range u.Deviation {
		sum += v * v / float64(len(u.Deviation))
	}
	return math.Sqrt(sum)
}

// ridge fits W and b to numbers, Σ_i ω_i ‖f_i W + b − y_i‖²/Σω + wd·‖W‖², with each output in units of its standard
// deviation around its mean, so that one weight decay is for all. W and b that it takes and returns are in the
// outputs' own units.
func ridge(ctx context.Context, p Problem, weightDecay, tolerance float64,
	start *architecture.Layer) (*architecture.Layer, error) {
	units := UnitsOf(p.Targets)
	p.Targets = p.Targets.Clone()
	for i := range p.Targets.Rows {
		row := p.Targets.Row(i)
		for k := range row {
			row[k] = float32((float64(row[k]) - units.Mean[k]) / units.Deviation[k])
		}
	}
	if start != nil {
		inner := &architecture.Layer{Self: start.Self.Clone(), Bias: make([]float32, len(start.Bias))}
		for k, deviation := range units.Deviation {
			scaleColumn(inner.Self, k, 1/deviation)
			inner.Bias[k] = float32((float64(start.Bias[k]) - units.Mean[k]) / deviation)
		}
		start = inner
	}
	layer, err := minimise(ctx, p, weightDecay, tolerance, start)
	if err != nil {
		return nil, err
	}
	for k, deviation := range units.Deviation {
		scaleColumn(layer.Self, k, deviation)
		layer.Bias[k] = float32(float64(layer.Bias[k])*deviation + units.Mean[k])
	}
	return layer, nil
}

func scaleColumn(m *graph.Dense, column int, by float64) {
	for i := range m.Rows {
		m.Row(i)[column] = float32(float64(m.Row(i)[column]) * by)
	}
}

// squaredLoss returns Σ_i share_i·‖row i − target_i‖², and leaves its gradient in the rows.
func squaredLoss(rows, targets *graph.Dense, share []float32) float64 {
	loss := 0.0
	for i := range rows.Rows {
		row, target := rows.Row(i), targets.Row(i)
		for k, v := range row {
			e := v - target[k]
			loss += float64(share[i]) * float64(e) * float64(e)
			row[k] = 2 * share[i] * e
		}
	}
	return loss
}
