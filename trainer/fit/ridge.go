package fit

import (
	"context"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
)

// ridge fits W and b to numbers, Σ_i ω_i ‖f_i W + b − y_i‖²/Σω + wd·‖W‖², with each output in units of its standard
// deviation around its mean, so that one weight decay is for all. W and b that it takes and returns are in the
// outputs' own units.
func ridge(ctx context.Context, p Problem, weightDecay, tolerance float64,
	start *architecture.Layer) (*architecture.Layer, error) {
	units := target.UnitsOf(p.Targets)
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
