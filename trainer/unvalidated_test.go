package trainer

import (
	"math"
	"testing"

	"rivulet/artifact/baseline"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// Without validation nodes a model is trained on all labels: temperatures are 1, nothing is added, nothing says how
// validation nodes did, and its accuracy on test nodes is about that of a run that had some.
func TestTrainWithoutValidationNodes(t *testing.T) {
	for _, task := range []target.Task{target.Classes, target.Labels} {
		for _, model := range []string{"sgc", "gcn"} {
			o := Defaults()
			o.Models, o.Costs, o.Hidden, o.Nodes = []string{model}, false, 16, 24
			o.WeightDecays = []float64{1e-2, 1e-4}
			run := func(validation bool) *Outcome {
				d := small(t, generate.Dense)
				if task == target.Labels { // one label for each class, and one more
					d.Task, d.Targets = task, graph.NewDense(d.Nodes(), len(d.Classes))
					for i, y := range d.Labels {
						if y >= 0 {
							d.Targets.Row(i)[y], d.Labels[i] = 1, 0
						}
					}
				}
				if !validation {
					d.Train, d.Validation = append(d.Train, d.Validation...), nil
				}
				return mustTrain(t, d, o)
			}
			with, without := run(true), run(false)
			m := without.Bundle.Manifest
			served := m.Models[0]
			if served.Calibration.Temperature != 1 || served.Own.Answers() || len(served.Propagation) != 0 ||
				m.Reference.Nodes != 0 || len(m.Reference.Models) != 0 || served.WeightDecay == 0 ||
				served.Calibration.Confidence.ECE != (baseline.CalibrationError{
					TestBefore: served.Calibration.Confidence.ECE.TestBefore,
					TestAfter:  served.Calibration.Confidence.ECE.TestAfter}) {
				t.Errorf("%s, %s: %+v", task, model, served)
			}
			for _, tau := range served.Temperatures {
				if tau != 1 {
					t.Errorf("%s, %s: temperatures %v", task, model, served.Temperatures)
				}
			}
			score := func(of *Outcome) float64 {
				for _, r := range of.Results {
					if r.Served && r.Batch == NodeBatch {
						return r.Score(r.Task.Primary().Name).Mean
					}
				}
				return math.NaN()
			}
			if a, b := score(with), score(without); !(b > a-6) {
				t.Errorf("%s, %s: %.1f%% without validation nodes, %.1f%% with some", task, model, b, a)
			}
			expect.OK(t, without.Bundle.Seal())
		}
	}
	d := small(t, generate.Dense)
	d.Validation, d.Test = nil, nil
	o := options(12)
	if out := mustTrain(t, d, o); len(out.Results) != 0 || len(out.Answers) == 0 {
		t.Errorf("%d results, %d answers", len(out.Results), len(out.Answers))
	}
	d = small(t, generate.Dense)
	d.Validation, d.Task = nil, target.Links
	expect.Error(t, expect.ErrorOf(Train(t.Context(), d, o, created, Silent{})), "no validation nodes: task links needs")
}
