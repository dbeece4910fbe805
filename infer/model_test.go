package infer_test

import (
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

func TestNewSGCNamesBothShapes(t *testing.T) {
	_, err := infer.NewSGC(graph.NewDense(5, 3), make([]float32, 2))
	if err == nil || !strings.Contains(err.Error(), "lin.bias has 2 values, lin.weight 3 columns") {
		t.Errorf("error %v", err)
	}
}
