package trainer

import (
	"slices"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/search"
)

// Arrivals that are predicted on the growing graph find the arrivals before their step in T and no others.
func TestWholeGrowing(t *testing.T) {
	d := small(t, generate.BagOfWords)
	b := mustTrain(t, d, options(18)).Bundle
	order := slices.Clone(d.Test)
	slices.Reverse(order)
	right := func(classes, nodes []int32) float64 {
		var labels []int32
		for _, i := range nodes {
			labels = append(labels, d.Labels[i])
		}
		return eval.Equal(classes, labels)
	}
	whole := func(d *dataset.Dataset, nodes []int32) float64 {
		original := d.Original()
		model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
		expect.OK(t, err)
		joint := model.Joint(original.Adj, b.Preprocess.Raw(original.X), &b.Preprocess)
		return search.Accuracy(eval.Plain(joint), eval.Attach(d, original, [][]int32{nodes}, attach.Node))
	}
	alone, err := eval.WholeGrowing(t.Context(), d, b, order, len(order), false, Silent{})
	expect.OK(t, err)
	if got, want := right(alone, order), whole(d, order); got != want {
		t.Errorf("on T alone %v%%, want %v%%", got, want)
	}
	grown, err := eval.WholeGrowing(t.Context(), d, b, order, 30, false, Silent{})
	expect.OK(t, err)
	if len(grown) != len(order) || slices.Equal(grown, alone) {
		t.Errorf("%d answers to %d nodes, the same as on T alone: %v", len(grown), len(order), slices.Equal(grown, alone))
	}
	for at := 0; at < len(order); at += 30 {
		nodes := order[at:min(at+30, len(order))]
		then := d.Joined(order[:at])
		if got, want := right(grown[at:][:len(nodes)], nodes), whole(then, nodes); got != want {
			t.Errorf("arrivals from %d on: %v%%, want %v%%", at, got, want)
		}
	}
}
