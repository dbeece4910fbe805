package infer_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/infertest"
	"rivulet/test/expect"
)

func TestBuildIsTheInverseOfParams(t *testing.T) {
	m, err := infer.NewSGC(&graph.Dense{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6}}, []float32{7, 8})
	expect.OK(t, err)
	params := m.Params()
	params[0], params[1] = params[1], params[0]
	got, err := infer.Build(m.Name(), params)
	expect.OK(t, err)
	expect.Same(t, m.Params(), got.Params(), "weights")
	if got.Features() != 3 || got.Classes() != 2 {
		t.Errorf("%d features and %d classes", got.Features(), got.Classes())
	}
}

func TestBuildErrors(t *testing.T) {
	weight := infer.Param{Name: "lin.weight", Value: graph.NewDense(5, 3)}
	bias := infer.Param{Name: "lin.bias", Value: graph.NewDense(1, 3)}
	named := func(name string, m *graph.Dense) infer.Param { return infer.Param{Name: name, Value: m} }
	for name, tc := range map[string]struct {
		model  string
		params []infer.Param
		want   string
	}{
		"unknown model": {"gat", nil, `model "gat" is not known, only appnp, cheby, dirsage, dirsgc, gcn, ` +
			"rgcn, rsgc, sage, sgc, ssgc"},
		"no weights": {"sgc", nil, "building sgc: tensor lin.weight is missing"},
		"missing":    {"sgc", []infer.Param{weight}, "tensor lin.bias is missing"},
		"shape": {"sgc", []infer.Param{weight, named("lin.bias", graph.NewDense(1, 4))},
			"tensor lin.bias is 1×4, want 1×3"},
		"column": {"sgc", []infer.Param{weight, named("lin.bias", graph.NewDense(3, 1))},
			"tensor lin.bias is 3×1, want 1×3"},
		"twice": {"sgc", []infer.Param{weight, bias, bias}, "tensor lin.bias is there twice"},
		"foreign": {"sgc", []infer.Param{weight, bias, named("lin2.weight", graph.NewDense(2, 1))},
			"tensor lin2.weight (2×1) is not one of its weights"},
		"no value": {"sgc", []infer.Param{named("lin.weight", nil)}, "tensor lin.weight has no values"},
		"empty":    {"sgc", []infer.Param{named("lin.weight", graph.NewDense(5, 0))}, "tensor lin.weight is 5×0"},
		"too few numbers": {"sgc", []infer.Param{named("lin.weight", &graph.Dense{Rows: 2, Cols: 2, Data: []float32{1}})},
			"tensor lin.weight has 1 values for shape 2×2"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := infer.Build(tc.model, tc.params)
			if m != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, %v, want an error with %q", m, err, tc.want)
			}
		})
	}
}

// weightsOf are the parameters of a small model of every architecture, by name and K.
func weightsOf() map[string]infer.Model {
	const d, h, c = 5, 4, 3
	rng := rand.New(rand.NewPCG(1, 2))
	first := func() *graph.Dense { return randomDense(rng, d, h) }
	second := func() *graph.Dense { return randomDense(rng, h, c) }
	b1, b2 := randomDense(rng, 1, h).Data, randomDense(rng, 1, c).Data
	layer := func(neighbours, self *graph.Dense, b []float32) architecture.Layer {
		return architecture.Layer{Neighbours: neighbours, Self: self, Bias: b}
	}
	middle := func() *graph.Dense { return randomDense(rng, h, h) }
	models := map[string]infer.Model{
		"sgc":    infertest.Model("sgc", 0, 2, layer(nil, randomDense(rng, d, c), b2)),
		"sgc5":   infertest.Model("sgc", 0, 5, layer(nil, randomDense(rng, d, c), b2)),
		"ssgc":   infertest.Model("ssgc", 0.25, 6, layer(nil, randomDense(rng, d, c), b2)),
		"gcn":    infertest.Model("gcn", 0, 0, layer(first(), nil, b1), layer(second(), nil, b2)),
		"gcn3":   infertest.Model("gcn", 0, 0, layer(first(), nil, b1), layer(middle(), nil, b1), layer(second(), nil, b2)),
		"sage":   infertest.Model("sage", 0, 0, layer(first(), first(), b1), layer(second(), second(), b2)),
		"appnp":  infertest.Model("appnp", 0.25, 7, layer(nil, first(), b1), layer(nil, second(), b2)),
		"cheby":  infertest.Model("cheby", 0, 0, layer(first(), first(), b1), layer(second(), second(), b2)),
		"cheby3": cubicCheby([]*graph.Dense{first(), first(), first()}, []*graph.Dense{second(), second(), second()}, b1, b2),
	}
	return models
}

func TestBuildEveryModel(t *testing.T) {
	names := []string{"appnp", "cheby", "dirsage", "dirsgc", "gcn", "rgcn", "rsgc", "sage", "sgc", "ssgc"}
	expect.Same(t, names, architecture.Names(), "names")
	for key, m := range weightsOf() {
		params := m.Params()
		slices.Reverse(params)
		got, err := infer.Build(m.Name(), params)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		expect.Same(t, m.Params(), got.Params(), "%s", key)
		if diff := cmp.Diff(m.Layers, got.Layers); diff != "" || got.Alpha != m.Alpha || got.Hops != m.Hops {
			t.Errorf("%s: α %g, %d hops, layers (-want +got):\n%s", key, got.Alpha, got.Hops, diff)
		}
		if got.Features() != 5 || got.Classes() != 3 {
			t.Errorf("%s: %d features and %d classes, want 5 and 3", key, got.Features(), got.Classes())
		}
		if got, want := infer.Freezable(m), key == "cheby3"; (got != nil) != want {
			t.Errorf("%s: Freezable says %v", key, got)
		}
	}
}

// If any tensor of any model is missing or has another shape, the error names it and both shapes. If the first tensor
// of a layer is wrong, the error names the tensor that does not fit to it.
func TestBuildNamesWhatDoesNotFit(t *testing.T) {
	for key, m := range weightsOf() {
		for k, p := range m.Params() {
			params := m.Params()
			_, err := infer.Build(m.Name(), slices.Delete(params, k, k+1))
			// Without its last matrices a Cheby of K = 3 is one of K = 2 with a matrix too many.
			want := "tensor " + p.Name + " is missing"
			if key == "cheby3" && p.Name == "convs.0.lins.2.weight" {
				want = "tensor convs.1.lins.2.weight (4×3) is not one of its weights"
			}
			if implied := key == "sgc5" && p.Name == "hops"; implied { // it is one of two hops then
				want = ""
			}
			if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s without %s: error %v, want one with %q", key, p.Name, err, want)
			}

			params = m.Params()
			params[k].Value = graph.NewDense(p.Value.Rows+1, p.Value.Cols+2)
			_, err = infer.Build(m.Name(), params)
			shapes := regexp.MustCompile(`tensor (\S+) is \d+×\d+, want (\d+×\d+|\d+ rows as \S+ is \d+×\d+)$`)
			if err == nil || !shapes.MatchString(err.Error()) {
				t.Errorf("%s with %s of another shape: error %v", key, p.Name, err)
			}
		}
	}
}

func TestBuildRanges(t *testing.T) {
	models := weightsOf()
	build := func(name string, change func(map[string]*graph.Dense)) error {
		values := map[string]*graph.Dense{}
		for _, p := range models[name].Params() {
			values[p.Name] = p.Value
		}
		change(values)
		var weights []infer.Param
		for name, value := range values {
			weights = append(weights, infer.Param{Name: name, Value: value})
		}
		_, err := infer.Build(models[name].Name(), weights)
		return err
	}
	put := func(name string, value float32) func(map[string]*graph.Dense) {
		return func(w map[string]*graph.Dense) { w[name] = &graph.Dense{Rows: 1, Cols: 1, Data: []float32{value}} }
	}
	for _, tc := range []struct {
		model  string
		change func(map[string]*graph.Dense)
		want   string
	}{
		{"appnp", put("alpha", 0), "tensor alpha is 0, want more than 0 and at most 1"},
		{"appnp", put("alpha", 1.5), "tensor alpha is 1.5"},
		{"appnp", put("alpha", float32(math.NaN())), "tensor alpha is NaN"},
		{"appnp", put("hops", 0), "tensor hops is 0, want a whole number of 1 to 100"},
		{"appnp", put("hops", 101), "tensor hops is 101"},
		{"appnp", put("hops", 2.5), "tensor hops is 2.5"},
		{"sgc", put("hops", 0), "tensor hops is 0"},
		{"gcn", put("hops", 2), "tensor hops (1×1) is not one of its weights"},
		{"gcn", func(w map[string]*graph.Dense) { w["convs.1.lin.weight"] = nil }, "convs.1.lin.weight has no values"},
		{"gcn", func(w map[string]*graph.Dense) {
			w["convs.2.bias"] = w["convs.1.bias"]
		}, "tensor convs.2.lin.weight is missing"},
		{"cheby3", func(w map[string]*graph.Dense) { w["convs.0.lins.3.weight"] = w["convs.0.lins.0.weight"] },
			"convs.0.lins.3.weight (5×4) is not one of its weights"},
	} {
		expect.Error(t, build(tc.model, tc.change), tc.want, "%s", tc.model)
	}
}

// K = 2 is what an SGC without a tensor of that name has: its artifacts have always been written so.
func TestHopsOfSGCAreWrittenWhereTheyAreNotTwo(t *testing.T) {
	for name, want := range map[string]int{"sgc": 2, "sgc5": 3} {
		if params := weightsOf()[name].Params(); len(params) != want {
			t.Errorf("%s has %d tensors, want %d", name, len(params), want)
		}
	}
}

func TestNewSGCNamesBothShapes(t *testing.T) {
	_, err := infer.NewSGC(graph.NewDense(5, 3), make([]float32, 2))
	expect.Error(t, err, "lin.bias is 1×2, want 1×3")
}
