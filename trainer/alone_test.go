package trainer

import (
	"testing"

	"rivulet/dataset/generate"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// The figures of single arrivals are those of a run whose batches have one node each.
func TestAloneIsABatchOfOne(t *testing.T) {
	train := func(batch int) (whole, served eval.Result) {
		o := options(24)
		o.Batch, o.WeightDecays, o.Own = batch, []float64{1e-3}, OwnNever
		out, err := Train(t.Context(), small(t, generate.BagOfWords), o, created, Silent{})
		expect.OK(t, err)
		for _, r := range out.Results {
			switch {
			case r.Batch != NodeBatch:
			case r.Served:
				served = r
			case r.Setting == eval.OtoO && whole.Setting == "":
				whole = r
			}
		}
		return whole, served
	}
	together, served := train(1000)
	single, one := train(1)
	if served.Alone == nil || one.Alone == nil {
		t.Fatal("single arrivals were not measured")
	}
	if served.Alone.Whole != single.Score("accuracy").Mean || served.Alone.Accuracy != served.Score("accuracy").Mean {
		t.Errorf("alone %+v; in batches of one %.2f%% on T, on S %.2f%%", *served.Alone, single.Score("accuracy").Mean,
			served.Score("accuracy").Mean)
	}
	want := eval.Alone{Nodes: 150, Of: 150, Accuracy: one.Score("accuracy").Mean, Whole: single.Score("accuracy").Mean,
		Agreement: one.Agreement.Mean}
	if *one.Alone != want {
		t.Errorf("of batches of one %+v, want %+v", *one.Alone, want)
	}
	if together.Alone != nil {
		t.Error("a row that is not served has figures of single arrivals")
	}
}
