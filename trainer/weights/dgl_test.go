package weights

import (
	"maps"
	"math"
	"strings"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
)

// Weights of DGL's layers give the logits that DGL 2.1.0 gave (python/tests/dgl/make_weights.py): GraphConv and SGConv
// of a graph with loops, SAGEConv with the mean, APPNPConv behind two Linear layers. A node has no edges.
func TestModelsAnswerAsDGL(t *testing.T) {
	all := read(t, "dgl")
	adj, x := pattern(matrix(all["adj"])), graph.Features{Dense: matrix(all["x"])}
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	nobody := &attach.Batch{X: x.Take(nil), R: &graph.CSR{Cols: adj.Rows, RowPtr: []int{0}}}
	for _, name := range []string{"gcn", "sage", "sgc", "appnp"} {
		state := stateOf(all, name)
		got, err := state.Model(name, wanted)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, source := range got.Sources {
			if !state.has(source.Tensor) {
				t.Errorf("%s: %s comes from %q, which the file does not have", name, source.Param, source.Tensor)
			}
		}
		logits := got.Model.Joint(adj, plain.Raw(x), plain).(infer.NodeLogits).GraphLogits(nobody)
		for k, want := range all["answers."+name].Values {
			if v := logits.Data[k]; math.Abs(float64(v-want)) > 1e-5 {
				t.Errorf("%s: node %d, class %d: %v, DGL says %v", name, k/3, k%3, v, want)
				break
			}
		}
	}
}

// stateOf is the state_dict of a model of the file.
func stateOf(all State, model string) State {
	out := State{}
	for name, value := range all {
		if tail, ok := strings.CutPrefix(name, model+"."); ok {
			out[tail] = value
		}
	}
	return out
}

// Before version 1 the bias of a SAGEConv stood beside its matrices. Other aggregators than the mean are refused.
func TestSAGEConvOfDGL(t *testing.T) {
	now := stateOf(read(t, "dgl"), "sage")
	before := maps.Clone(now)
	before["conv2.bias"] = now["conv2.fc_self.bias"]
	delete(before, "conv2.fc_self.bias")
	a, err := now.Model("sage", wanted)
	expect.OK(t, err)
	b, err := before.Model("sage", wanted)
	if err != nil || b.Sources[4].Tensor != "conv2.bias" && b.Sources[5].Tensor != "conv2.bias" {
		t.Fatalf("a bias beside the matrices: %v, %+v", err, b)
	}
	for k, p := range a.Model.Params() {
		for i, v := range p.Value.Data {
			if b.Model.Params()[k].Value.Data[i] != v {
				t.Fatalf("%s differs where the bias stands beside the matrices", p.Name)
			}
		}
	}
	for want, change := range map[string]func(s State){
		"the aggregator gcn is not served": func(s State) { delete(s, "conv2.fc_self.weight") },
		"both a bias of one layer":         func(s State) { s["conv2.bias"] = s["conv2.fc_self.bias"] },
		"fc_pool":                          func(s State) { s["conv1.fc_pool.weight"] = s["conv1.fc_self.weight"] },
	} {
		other := maps.Clone(now)
		change(other)
		expect.Error(t, expect.ErrorOf(other.Model("sage", wanted)), want)
	}
}
