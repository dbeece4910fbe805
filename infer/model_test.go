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
)

func TestBuildIsTheInverseOfParams(t *testing.T) {
	m, err := infer.NewSGC(&graph.Dense{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6}}, []float32{7, 8})
	if err != nil {
		t.Fatal(err)
	}
	params := m.Params()
	params[0], params[1] = params[1], params[0]
	got, err := infer.Build(m.Name(), params)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(infer.Model(m), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
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
		"unknown model":   {"gat", nil, `model "gat" is not known, only appnp, cheby, gcn, sage, sgc`},
		"no weights":      {"sgc", nil, "building sgc: tensor lin.weight is missing"},
		"missing":         {"sgc", []infer.Param{weight}, "tensor lin.bias is missing"},
		"shape":           {"sgc", []infer.Param{weight, named("lin.bias", graph.NewDense(1, 4))}, "tensor lin.bias is 1×4, want 1×3"},
		"column":          {"sgc", []infer.Param{weight, named("lin.bias", graph.NewDense(3, 1))}, "tensor lin.bias is 3×1, want 1×3"},
		"twice":           {"sgc", []infer.Param{weight, bias, bias}, "tensor lin.bias is there twice"},
		"foreign":         {"sgc", []infer.Param{weight, bias, named("lin2.weight", graph.NewDense(2, 1))}, "tensor lin2.weight (2×1) is not one of its weights"},
		"no value":        {"sgc", []infer.Param{named("lin.weight", nil)}, "tensor lin.weight has no values"},
		"empty":           {"sgc", []infer.Param{named("lin.weight", graph.NewDense(5, 0))}, "tensor lin.weight is 5×0"},
		"too few numbers": {"sgc", []infer.Param{named("lin.weight", &graph.Dense{Rows: 2, Cols: 2, Data: []float32{1}})}, "tensor lin.weight has 1 values for shape 2×2"},
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
func weightsOf(t *testing.T) map[string]infer.Model {
	t.Helper()
	const d, h, c = 5, 4, 3
	rng := rand.New(rand.NewPCG(1, 2))
	first := func() *graph.Dense { return randomDense(rng, d, h) }
	second := func() *graph.Dense { return randomDense(rng, h, c) }
	b1, b2 := randomDense(rng, 1, h).Data, randomDense(rng, 1, c).Data
	must := func(m infer.Model, err error) infer.Model {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	sgc, err := infer.NewSGC(randomDense(rng, d, c), b2)
	models := map[string]infer.Model{"sgc": must(sgc, err)}
	gcn, err := infer.NewGCN(first(), second(), b1, b2)
	models["gcn"] = must(gcn, err)
	sage, err := infer.NewSAGE(first(), first(), second(), second(), b1, b2)
	models["sage"] = must(sage, err)
	appnp, err := infer.NewAPPNP(first(), second(), b1, b2, 0.25, 7)
	models["appnp"] = must(appnp, err)
	cheby, err := infer.NewCheby([]*graph.Dense{first(), first()}, []*graph.Dense{second(), second()}, b1, b2)
	models["cheby"] = must(cheby, err)
	cubic, err := infer.NewCheby([]*graph.Dense{first(), first(), first()}, []*graph.Dense{second(), second(), second()}, b1, b2)
	models["cheby3"] = must(cubic, err)
	return models
}

func TestBuildEveryModel(t *testing.T) {
	names := []string{"appnp", "cheby", "gcn", "sage", "sgc"}
	if diff := cmp.Diff(names, infer.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for key, m := range weightsOf(t) {
		params := m.Params()
		slices.Reverse(params)
		got, err := infer.Build(m.Name(), params)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
		if got.Features() != 5 || got.Classes() != 3 {
			t.Errorf("%s: %d features and %d classes, want 5 and 3", key, got.Features(), got.Classes())
		}
		if got, want := infer.Freezable(m), key == "cheby3"; (got != nil) != want {
			t.Errorf("%s: Freezable says %v", key, got)
		}
	}
}

// Whatever tensor of whatever model is missing or has another shape, the error names it and both shapes. Where the first
// tensor of a layer is what is wrong, it is what hangs on it that does not fit.
func TestBuildNamesWhatDoesNotFit(t *testing.T) {
	for key, m := range weightsOf(t) {
		for k, p := range m.Params() {
			params := m.Params()
			_, err := infer.Build(m.Name(), slices.Delete(params, k, k+1))
			// Without its last matrices a Cheby of K = 3 is one of K = 2 with a matrix too many.
			want := "tensor " + p.Name + " is missing"
			if key == "cheby3" && p.Name == "convs.0.lins.2.weight" {
				want = "tensor convs.1.lins.2.weight (4×3) is not one of its weights"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
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
	models := weightsOf(t)
	appnp := models["appnp"].(*infer.APPNP)
	for _, tc := range []struct {
		alpha float32
		hops  int
		want  string
	}{
		{0, 10, "tensor alpha is 0, want more than 0 and at most 1"},
		{1.5, 10, "tensor alpha is 1.5"},
		{float32(math.NaN()), 10, "tensor alpha is NaN"},
		{0.1, 0, "tensor hops is 0, want a whole number of 1 to 100"},
		{0.1, 101, "tensor hops is 101"},
	} {
		m, err := infer.NewAPPNP(appnp.W1, appnp.W2, appnp.B1, appnp.B2, tc.alpha, tc.hops)
		if m != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("alpha %v and %d hops: %v, %v, want an error with %q", tc.alpha, tc.hops, m, err, tc.want)
		}
	}
	params := appnp.Params()
	params[5].Value.Data[0] = 2.5
	if _, err := infer.Build("appnp", params); err == nil || !strings.Contains(err.Error(), "tensor hops is 2.5") {
		t.Errorf("2.5 hops: error %v", err)
	}
	gcn := models["gcn"].(*infer.GCN)
	if m, err := infer.NewGCN(gcn.W1, nil, gcn.B1, gcn.B2); m != nil || err == nil || !strings.Contains(err.Error(), "convs.1.lin.weight has no values") {
		t.Errorf("no second layer: %v, %v", m, err)
	}
	first, second := slices.Repeat([]*graph.Dense{gcn.W1}, 4), slices.Repeat([]*graph.Dense{gcn.W2}, 4)
	m, err := infer.NewCheby(first, second, gcn.B1, gcn.B2)
	if m != nil || err == nil || !strings.Contains(err.Error(), "convs.0.lins.3.weight (5×4) is not one of its weights") {
		t.Errorf("K = 4: %v, %v", m, err)
	}
}

func TestNewSGCNamesBothShapes(t *testing.T) {
	_, err := infer.NewSGC(graph.NewDense(5, 3), make([]float32, 2))
	if err == nil || !strings.Contains(err.Error(), "lin.bias has 2 values, lin.weight 3 columns") {
		t.Errorf("error %v", err)
	}
}
