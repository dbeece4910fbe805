package trainer

import (
	"math"
	"testing"

	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// Section 2 of deeper models: on cora, at most 1.5% of the test nodes' predictions frozen on T differ from those of
// the arrival truly joined alone.
func TestSection2DepthOnCora(t *testing.T) {
	d := realSet(t, "cora")
	for _, c := range []struct {
		model        string
		layers, hops int
	}{{"sgc", 0, 1}, {"sgc", 0, 3}, {"gcn", 3, 0}, {"sage", 3, 0}, {"ssgc", 0, 0}} {
		o := Defaults()
		o.Costs, o.Hidden = false, 32 // each arrival is joined to all of T
		o.Models, o.Layers, o.Hops, o.WeightDecays = []string{c.model}, c.layers, c.hops, []float64{1e-2}
		k := makeReady(t, d, o)
		whole, err := fitOriginal(t.Context(), k.T, k.held, k.run, c.model)
		expect.OK(t, err)
		all := k.held.test()[NodeBatch]
		onT := whole.Model.Tables(k.Adj, k.inputs)
		frozen := eval.Run(eval.Plain(whole.Model.Frozen(onT, k.Preprocess)), all)
		joint := whole.Model.Joint(k.Adj, k.inputs, k.Preprocess)
		var alone []int32
		for _, i := range k.held.data.Test {
			one := joint.Logits(k.held.data.Attach(k.Original, []int32{i}, attach.Node))
			alone = append(alone, int32(graph.ArgMax(one.Row(0))))
		}
		differ := 100 - eval.Equal(frozen.Class, alone)
		t.Logf("%s of %d layers, %d hops: accuracy %.1f%% frozen, %.2f%% of predictions differ from those of arrivals "+
			"joined alone",
			c.model, len(whole.Model.Layers), whole.Model.Hops, frozen.Accuracy(all), differ)
		if differ > 1.5 {
			t.Errorf("%s of %d layers, %d hops: %.2f%% of predictions differ, want at most 1.5%%", c.model,
				len(whole.Model.Layers), whole.Model.Hops, differ)
		}
	}
}

// Deeper models share one M, are written and read, stay near themselves on T, and are trained as deep by a refresh.
func TestDeepModelsAreServedAndRefreshed(t *testing.T) {
	o := options(24)
	o.Models, o.Hidden, o.Nodes, o.Layers, o.Hops = []string{"gcn", "sgc", "sage", "appnp", "ssgc"}, 16, 24, 3, 4
	o.WeightDecays, o.Representation = []float64{1e-3}, true
	out := mustTrain(t, small(t, generate.BagOfWords), o)
	b := reread(t, out.Bundle)
	for _, m := range b.Models {
		built, err := infer.Build(m.Name, m.Params)
		expect.OK(t, err)
		layers, hops := map[string]int{"gcn": 3, "sage": 3, "sgc": 1, "appnp": 2, "ssgc": 1}[m.Name],
			map[string]int{"sgc": 4, "appnp": 4, "ssgc": 4}[m.Name]
		if len(built.Layers) != layers || built.Hops != hops {
			t.Errorf("%s has %d layers and %d hops, want %d and %d", m.Name, len(built.Layers), built.Hops, layers, hops)
		}
		if b.Growth == nil || len(b.Growth.Messages[m.Name].U) != len(m.Tables.U) {
			t.Errorf("%s: no messages for its %d tables", m.Name, len(m.Tables.U))
		}
	}
	accuracy := map[string]float64{}
	for _, r := range out.Results {
		if r.Batch == NodeBatch && r.Calibration == "none" && !r.SharedM {
			accuracy[r.Model+r.Setting] = r.Score("accuracy").Mean
		}
	}
	for _, name := range o.Models {
		if gap := math.Abs(accuracy[name+eval.OtoO] - accuracy[name+eval.OtoS]); gap > 8 {
			t.Errorf("%s: O→O %.1f%%, O→S %.1f%%", name, accuracy[name+eval.OtoO], accuracy[name+eval.OtoS])
		}
	}
	again, err := Inherit(&b.Manifest, nil)
	expect.OK(t, err)
	if again.Layers != o.Layers || again.Hops != o.Hops {
		t.Errorf("a refresh has %d layers and %d hops, want %d and %d", again.Layers, again.Hops, o.Layers, o.Hops)
	}
}

func TestDepthIsChecked(t *testing.T) {
	for want, change := range map[string]func(o *Options){
		"layers is 9, gcn has 2 to 8":               func(o *Options) { o.Models, o.Layers = []string{"gcn"}, 9 },
		"layers is 3, which none of sgc, cheby":     func(o *Options) { o.Models, o.Layers = []string{"sgc", "cheby"}, 3 },
		"hops is 3, which none of gcn has a choice": func(o *Options) { o.Models, o.Hops = []string{"gcn"}, 3 },
		"hops is 101, want at most 100":             func(o *Options) { o.Hops = 101 },
		"layers is -1, want 0":                      func(o *Options) { o.Layers = -1 },
		"hops is -2, want 0":                        func(o *Options) { o.Hops = -2 },
	} {
		o := Defaults()
		change(&o)
		expect.Error(t, o.Validate(), want)
	}
}
