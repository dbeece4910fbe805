package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/target"
)

// Each label gets the temperature at which its labels were drawn. One that five nodes have takes that of all together.
func TestTemperatureOfEachLabel(t *testing.T) {
	taus := []float64{0.5, 1, 4, 30}
	rng := rand.New(rand.NewPCG(1, 2))
	logits, truth := graph.NewDense(4000, len(taus)), graph.NewDense(4000, len(taus))
	for i := range logits.Rows {
		for k, tau := range taus {
			z := 3 * rng.NormFloat64()
			logits.Row(i)[k] = float32(z)
			if rng.Float64() < 1/(1+math.Exp(-z/tau)) && (tau < 30 || i < 10) {
				truth.Row(i)[k] = 1
			}
		}
	}
	s := Support{Task: target.Labels, Logits: []*graph.Dense{logits}, Labels: [][]int32{make([]int32, logits.Rows)},
		Targets: []*graph.Dense{truth}}
	got, by := Of(s.Temperatures())
	for k, tau := range taus[:3] {
		if math.Abs(float64(got[k])/tau-1) > 0.15 {
			t.Errorf("τ of label %d is %v, drawn at %v", k, got[k], tau)
		}
	}
	if got[3] == got[0] || got[3] <= got[0] || got[3] >= 20 {
		t.Errorf("τ of a rare label is %v, of the others %v", got[3], got[:3])
	}
	of := func(temperatures []float32) infer.Calibration {
		return infer.Calibration{Task: target.Labels, Temperature: 1, Temperatures: temperatures}
	}
	c := s.Confidence(of(got), [2]infer.Calibration{of(by[0]), of(by[1])}, 0.5)
	if *c.ECE.ValidationAfter >= *c.ECE.ValidationBefore {
		t.Errorf("calibration errors %v before and %v after", *c.ECE.ValidationBefore, *c.ECE.ValidationAfter)
	}
	if first, last := c.Curve[0], c.Curve[len(c.Curve)-1]; c.Coverage != 0.5 || first.Accuracy < last.Accuracy ||
		c.Threshold != first.Threshold || last.Accuracy < 60 {
		t.Errorf("the surest half is %.1f%% right, all %.1f%%", first.Accuracy, last.Accuracy)
	}
}

// Few nodes whose labels are all right do not get a temperature of 0 either, label by label.
func TestTemperaturesOfFewNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 5, 40} {
		logits, truth := graph.NewDense(n, 3), graph.NewDense(n, 3)
		for i := range logits.Data {
			logits.Data[i] = float32(rng.NormFloat64())
			if logits.Data[i] > 0 {
				truth.Data[i] = 1
			}
		}
		s := Support{Task: target.Labels, Logits: []*graph.Dense{logits}, Labels: [][]int32{make([]int32, n)}, Targets: []*graph.Dense{truth}}
		got, _ := Of(s.Temperatures())
		for k, tau := range got {
			if !(tau > 0.1 && tau <= 1) {
				t.Errorf("τ of label %d by %d nodes is %v", k, n, tau)
			}
		}
	}
}
