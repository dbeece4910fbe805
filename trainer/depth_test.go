package trainer

import (
	"testing"

	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Section 2 of deeper models: on cora, at most 1.5% of the test nodes' predictions frozen on T differ from those of the arrival
// truly joined alone.
func TestSection2DepthOnCora(t *testing.T) {
	d := realSet(t, "cora")
	for _, c := range []struct {
		model        string
		layers, hops int
	}{{"sgc", 0, 1}, {"sgc", 0, 3}, {"gcn", 3, 0}, {"sage", 3, 0}} {
		o := Defaults()
		o.Models, o.Layers, o.Hops, o.WeightDecays = []string{c.model}, c.layers, c.hops, []float64{1e-2}
		k, err := newTask(d, o)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := k.fitOriginal(t.Context(), c.model, Silent{})
		if err != nil {
			t.Fatal(err)
		}
		all := k.test[NodeBatch]
		frozen := eval.Run(plain(k.frozenOnT(whole.model).build()), all)
		joint := whole.model.Joint(k.original.Adj, k.inputs, k.pre)
		var alone []int32
		for _, i := range d.Test {
			one := joint.Logits(d.Attach(k.original, []int32{i}, false))
			alone = append(alone, int32(infer.ArgMax(one.Row(0))))
		}
		differ := 100 - eval.Equal(frozen.Class, alone)
		t.Logf("%s of %d layers, %d hops: accuracy %.1f%% frozen, %.2f%% of predictions differ from those of arrivals joined alone",
			c.model, len(whole.model.Layers), whole.model.Hops, frozen.Accuracy(all), differ)
		if differ > 1.5 {
			t.Errorf("%s of %d layers, %d hops: %.2f%% of predictions differ, want at most 1.5%%", c.model, len(whole.model.Layers), whole.model.Hops, differ)
		}
	}
}
