package weights

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
)

// The files of testdata are written by python/tests/pyg/test_train.py --fixtures: state_dicts of small models of 6
// features, 5 hidden units and 3 classes, and what PyTorch Geometric answers with them on one graph.
var wanted = Requirements{Features: 6, Classes: 3}

func read(t *testing.T, name string) State {
	t.Helper()
	s, err := Read(filepath.Join("testdata", name+".safetensors"))
	expect.OK(t, err)
	return s
}

func matrix(a safetensors.Array) *graph.Dense {
	return &graph.Dense{Rows: a.Shape[0], Cols: a.Shape[1], Data: a.Values}
}

// pattern is a 0/1 matrix.
func pattern(m *graph.Dense) *graph.CSR {
	var edges []graph.Edge
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			if v != 0 {
				edges = append(edges, graph.Edge{Row: int32(i), Col: int32(j), Val: 1})
			}
		}
	}
	return graph.NewCSR(m.Rows, m.Cols, edges)
}

// Package infer's model of a state_dict computes the same as PyTorch Geometric: names, order, transposition, precision
// and missing biases are right.
func TestModelsAnswerAsPyTorchGeometric(t *testing.T) {
	answers := read(t, "answers")
	adj, x := pattern(matrix(answers["adj"])), graph.Features{Dense: matrix(answers["x"])}
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	nobody := &attach.Batch{X: x.Take(nil), R: &graph.CSR{Cols: adj.Rows, RowPtr: []int{0}}}
	files, err := filepath.Glob("testdata/*_*.safetensors")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d state_dicts (%v), want 10", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".safetensors")
		architecture, _, _ := strings.Cut(name, "_")
		got, err := read(t, name).Model(architecture, wanted)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		logits := got.Model.Joint(adj, plain.Raw(x), plain).(infer.NodeLogits).GraphLogits(nobody)
		want := matrix(answers[name])
		for k, v := range logits.Data {
			if math.Abs(float64(v-want.Data[k])) > 1e-5 {
				t.Errorf("%s: node %d, class %d: %v, PyTorch Geometric says %v", name, k/3, k%3, v, want.Data[k])
				break
			}
		}
	}
}

// Attention to neighbours has no frozen form: the error names the tensor and the page that says why.
func TestAttentionIsRefused(t *testing.T) {
	for _, name := range []string{"conv1.att_src", "layers.0.attn_l", "conv1.att"} {
		state := State{name: {Type: "F32", Shape: []int{1, 8, 8}, Values: make([]float32, 64)}}
		_, err := state.Model("gcn", wanted)
		if err == nil || !strings.Contains(err.Error(), "tensor "+name+" [1 8 8] is of an attention") ||
			!strings.Contains(err.Error(), "docs/algorithm.md") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A DirGNNConv around SAGEConv answers as in PyTorch Geometric, for the nodes of a graph by its own tables: directions,
// α, the three biases, and nodes without edges of a direction.
func TestDirGNNConvAnswersAsPyTorchGeometric(t *testing.T) {
	all := read(t, "dirsage")
	state, answers := State{}, State{}
	for name, value := range all {
		if tail, ok := strings.CutPrefix(name, "answers."); ok {
			answers[tail] = value
		} else {
			state[name] = value
		}
	}
	want := wanted
	want.Alpha = 0.3
	got, err := state.Model("dirsage", want)
	expect.OK(t, err)
	cites := pattern(matrix(answers["adj"]))
	adj, x := graph.NewRelations(cites, cites.Transpose()), graph.Features{Dense: matrix(answers["x"])}
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	logits := got.Model.LogitsOf(adj, got.Model.Tables(adj, plain.Raw(x)), x, plain)
	for k, v := range matrix(answers["logits"]).Data {
		if math.Abs(float64(v-logits.Data[k])) > 1e-5 {
			t.Fatalf("node %d, class %d: %v, PyTorch Geometric says %v", k/3, k%3, logits.Data[k], v)
		}
	}
	for words, change := range map[string][]string{
		"no matrix whose name ends in lin.weight": {"convs.0.lin.weight", "convs.1.lin.weight"}, // root_weight=False
		"convs.1.conv_in.lin_l.weight is missing": {"convs.1.conv_in.lin_l.weight"}} {
		less := maps.Clone(state)
		for _, name := range change {
			delete(less, name)
		}
		expect.Error(t, expect.ErrorOf(less.Model("dirsage", want)), words, "without %s", change)
	}
	want.Alpha = 2
	expect.Error(t, expect.ErrorOf(state.Model("dirsage", want)), "alpha is 2", "alpha 2")
}

// RGCNConv with the mean for each relation answers as in PyTorch Geometric, with a matrix for each relation or with a
// basis of fewer.
func TestRGCNConvAnswersAsPyTorchGeometric(t *testing.T) {
	for _, file := range []string{"rgcn", "rgcnbases"} {
		state, answers := State{}, State{}
		for name, value := range read(t, file) {
			if tail, ok := strings.CutPrefix(name, "answers."); ok {
				answers[tail] = value
			} else {
				state[name] = value
			}
		}
		const classes = 4
		got, err := state.Model("rgcn", Requirements{Features: 6, Classes: classes})
		expect.OK(t, err)
		adj := answers["adj"]
		var by []*graph.CSR
		for r, n := 0, adj.Shape[1]; r < adj.Shape[0]; r++ {
			by = append(by, pattern(&graph.Dense{Rows: n, Cols: n, Data: adj.Values[r*n*n : (r+1)*n*n]}))
		}
		all, x := graph.NewRelations(by...), graph.Features{Dense: matrix(answers["x"])}
		plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
		logits := got.Model.LogitsOf(all, got.Model.Tables(all, plain.Raw(x)), x, plain)
		for k, v := range matrix(answers["logits"]).Data {
			if math.Abs(float64(v-logits.Data[k])) > 1e-5 {
				t.Fatalf("%s: node %d, class %d: %v, PyTorch Geometric says %v", file, k/classes, k%classes, logits.Data[k], v)
			}
		}
		for words, change := range map[string]func(s State){
			"convs.0.weight is []": func(s State) { delete(s, "convs.0.weight") },
			"num_blocks": func(s State) {
				w := s["convs.0.weight"]
				w.Shape = []int{w.Shape[0], 2, 3, 5}
				s["convs.0.weight"] = w
			},
			"no matrix whose name ends in root": func(s State) { delete(s, "convs.0.root"); delete(s, "convs.1.root") },
		} {
			less := maps.Clone(state)
			change(less)
			expect.Error(t, expect.ErrorOf(less.Model("rgcn", Requirements{Features: 6, Classes: classes})), words)
		}
	}
}

func TestSourcesNameTheTensors(t *testing.T) {
	for name, want := range map[string][]Source{
		"gcn_words": {
			{"convs.0.lin.weight", "module.entry.lin.weight"}, {"convs.0.bias", "module.entry.bias"},
			{"convs.1.lin.weight", "module.answer.lin.weight"}, {"convs.1.bias", "module.answer.bias"},
		},
		"sage_no_bias": {
			{"convs.0.lin_l.weight", "gnn1.lin_l.weight"}, {"convs.0.lin_l.bias", ""},
			{"convs.0.lin_r.weight", "gnn1.lin_r.weight"},
			{"convs.1.lin_l.weight", "gnn2.lin_l.weight"}, {"convs.1.lin_l.bias", ""},
			{"convs.1.lin_r.weight", "gnn2.lin_r.weight"},
		},
		"sgc_pyg": {{"lin.weight", "lin.weight"}, {"lin.bias", "lin.bias"}},
		"appnp_sequence": {{"lins.0.weight", "net.0.weight"}, {"lins.0.bias", "net.0.bias"},
			{"lins.1.weight", "net.3.weight"}, {"lins.1.bias", "net.3.bias"}},
	} {
		architecture, _, _ := strings.Cut(name, "_")
		got, err := read(t, name).Model(architecture, wanted)
		expect.OK(t, err)
		expect.Same(t, want, got.Sources, "%s", name)
	}
}

// tensors makes a state of zeros.
func tensors(shapes map[string][]int) State {
	s := State{}
	for name, shape := range shapes {
		size := 1
		for _, n := range shape {
			size *= n
		}
		s[name] = safetensors.Array{Shape: shape, Type: "F32", Values: make([]float32, size)}
	}
	return s
}

// with is a state with some tensors put in or, with a nil shape, taken away.
func with(s State, change map[string][]int) State {
	out := tensors(change)
	for name, a := range s {
		if _, changed := change[name]; !changed {
			out[name] = a
		}
	}
	for name, shape := range change {
		if shape == nil {
			delete(out, name)
		}
	}
	return out
}

func TestModelRefuses(t *testing.T) {
	gcn, sage := read(t, "gcn_pyg"), read(t, "sage_no_bias")
	cheby, appnp := read(t, "cheby_named"), read(t, "appnp_named")
	whole := with(sage, nil)
	whole["gnn1.lin_l.weight"] = safetensors.Array{Shape: []int{5, 6}, Type: "I64"}
	square := tensors(map[string][]int{"a.lin.weight": {3, 3}, "b.lin.weight": {3, 3}})
	for name, of := range map[string]struct {
		model string
		state State
		want  Requirements
		says  []string
	}{
		"unknown model": {"gat", gcn, wanted, []string{`model "gat" is not known, only appnp, cheby, dirsage`}},
		"other data": {"gcn", gcn, Requirements{Features: 7, Classes: 3},
			[]string{"gcn: tensor convs.0.lin.weight is [5 6], want [5 7]: the data have 7 features and 3 classes"}},
		"other classes": {"gcn", gcn, Requirements{Features: 6, Classes: 4},
			[]string{"tensor convs.1.lin.weight is [3 5], want [4 5]"}},
		"torn bias": {"gcn", with(gcn, map[string][]int{"convs.0.bias": {6}}), wanted,
			[]string{"tensor convs.0.bias is [6], want [5]"}},
		"hidden widths": {"gcn", with(gcn, map[string][]int{"convs.1.lin.weight": {3, 4}}), wanted,
			[]string{"tensor convs.1.lin.weight is [3 4], want [3 5]"}},
		"batch norm": {"gcn", with(gcn, map[string][]int{"bn.weight": {5}, "bn.bias": {5}}), wanted,
			[]string{"no place for bn.bias [5], bn.weight [5]"}},
		"classifier": {"gcn", with(gcn, map[string][]int{"out.weight": {3, 5}}), wanted,
			[]string{"no place for out.weight [3 5]"}},
		"three layers": {"gcn", with(gcn, map[string][]int{"convs.2.lin.weight": {5, 5}}), wanted,
			[]string{"tensor convs.2.lin.weight is [5 5], want [3 3]"}},
		"three of cheby": {"cheby", with(cheby, map[string][]int{"conv3.lins.0.weight": {5, 5},
			"conv3.lins.1.weight": {5, 5}}), wanted, []string{"layers by lins.0.weight: 3 (", "want 2"}},
		"one layer": {"gcn", with(gcn, map[string][]int{"convs.1.lin.weight": nil, "convs.1.bias": nil}), wanted,
			[]string{"1 (convs.0.lin.weight [5 6]), want 2"}},
		"another model": {"gcn", appnp, wanted,
			[]string{"no matrix whose name ends in lin.weight; the file has lin1.bias [5], lin1.weight [5 6]"}},
		"both orders": {"gcn", square, Requirements{Features: 3, Classes: 3},
			[]string{"which of a.lin.weight [3 3], b.lin.weight [3 3]", "fit in more than one order"}},
		"no order": {"gcn", square, wanted, []string{"for 6 features and 3 classes they fit in no order"}},
		"project": {"sage", with(sage, map[string][]int{"gnn1.lin.weight": {6, 6}}), wanted,
			[]string{"gnn1.lin.weight [6 6]", "project=True"}},
		"no root weight": {"sage", with(sage, map[string][]int{"gnn2.lin_r.weight": nil}), wanted,
			[]string{"gnn2.lin_r.weight is missing", "root_weight=False"}},
		"root of a shape": {"sage", with(sage, map[string][]int{"gnn2.lin_r.weight": {3, 4}}), wanted,
			[]string{"gnn2.lin_r.weight is [3 4], want [3 5]"}},
		"whole numbers": {"sage", whole, wanted, []string{"tensor gnn1.lin_l.weight is of I64, want F32"}},
		"order 1": {"cheby", with(cheby, map[string][]int{"conv1.lins.1.weight": nil, "conv2.lins.1.weight": nil}),
			wanted, []string{"K = 1, want 2 or 3"}},
		"order 4": {"cheby", with(cheby, map[string][]int{"conv1.lins.3.weight": {5, 6}}), wanted,
			[]string{"conv1.lins.3.weight [5 6]", "K = 4 or more, want 2 or 3"}},
		"orders differ": {"cheby", with(cheby, map[string][]int{"conv1.lins.2.weight": {5, 6}}), wanted,
			[]string{"tensor conv2.lins.2.weight is missing"}},
		"alpha": {"appnp", appnp, Requirements{Features: 6, Classes: 3, Alpha: 2, Hops: 10},
			[]string{"alpha is 2"}},
		"sgc of two":       {"sgc", gcn, wanted, []string{"layers by weight: 2", "want 1"}},
		"no place at once": {"appnp", gcn, wanted, []string{"no place for convs.0.bias [5], convs.1.bias [3]"}},
	} {
		got, err := of.state.Model(of.model, of.want)
		if err == nil {
			t.Errorf("%s: taken as %v", name, got.Sources)
			continue
		}
		for _, part := range of.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q, want %q", name, err, part)
			}
		}
	}
}

// The number of layers is that of the state_dict, in the order of the numbers or of the shapes; hops are what is
// asked for.
func TestDepthOfAStateDict(t *testing.T) {
	for name, of := range map[string]struct {
		model        string
		state        State
		layers, hops int
	}{
		"numbered": {"gcn", tensors(map[string][]int{"conv1.lin.weight": {5, 6}, "conv10.lin.weight": {3, 5},
			"conv2.lin.weight": {5, 5}}), 3, 0},
		"by shape": {"sage", tensors(map[string][]int{"c.lin_l.weight": {5, 6}, "c.lin_r.weight": {5, 6},
			"a.lin_l.weight": {4, 5}, "a.lin_r.weight": {4, 5},
			"b.lin_l.weight": {3, 4}, "b.lin_r.weight": {3, 4}}), 3, 0},
		"hops": {"sgc", tensors(map[string][]int{"lin.weight": {3, 6}}), 1, 3},
	} {
		w := wanted
		w.Hops = of.hops
		got, err := of.state.Model(of.model, w)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(got.Model.Layers) != of.layers || got.Model.Hops != of.hops {
			t.Errorf("%s: %d layers and %d hops, want %d and %d", name, len(got.Model.Layers), got.Model.Hops, of.layers,
				of.hops)
		}
	}
}

// Numbers order layers, not their text: conv9 comes before conv10.
func TestOrder(t *testing.T) {
	for _, of := range []struct {
		a, b  string
		first string // empty: names do not say
	}{
		{"conv1", "conv2", "conv1"}, {"conv10", "conv9", "conv9"}, {"layers.0.gcn", "layers.2.gcn", "layers.0.gcn"},
		{"gcn1.conv2", "gcn2.conv1", ""}, {"entry", "answer", ""}, {"conv", "conv2", ""}, {"conv01", "conv1", ""},
	} {
		sorted, ok := byNumber([]string{of.b, of.a})
		if again, _ := byNumber([]string{of.a, of.b}); ok != (of.first != "") ||
			(ok && (sorted[0] != of.first || again[0] != of.first)) {
			t.Errorf("%s, %s: %v %v, want %q first", of.a, of.b, sorted, ok, of.first)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, content := range map[string]string{
		"a file of torch.save, want one of safetensors":          "PK\x03\x04rest",
		"model.pt: 3 bytes, too short":                           "abc",
		"model.pt: the file has no tensors":                      "\x02\x00\x00\x00\x00\x00\x00\x00{}",
		"model.pt: a file of torch.save, want one of safetensor": "\x80\x02\x8a",
	} {
		path := filepath.Join(dir, "model.pt")
		expect.OK(t, os.WriteFile(path, []byte(content), 0o600))
		expect.Error(t, expect.ErrorOf(Read(path)), want)
	}
	expect.Error(t, expect.ErrorOf(Read(filepath.Join(dir, "missing"))), "missing")
}
