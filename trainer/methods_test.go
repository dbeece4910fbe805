package trainer

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
	"rivulet/trainer/product"
)

func TestComparisonsMakeNoArtifact(t *testing.T) {
	for _, name := range []string{MethodCached, MethodLogreg, MethodMLP, MethodGLNN, MethodEvidence} {
		o := options(18)
		o.Method = name
		expect.Error(t, expect.ErrorOf(Train(t.Context(), small(t, generate.Dense), o, created, Silent{})),
			"makes no artifact", "%s", name)
	}
}

// An M without entries attaches every arrival to nothing: no method may return one.
func TestMappingWithoutEntriesIsRefused(t *testing.T) {
	o := options(15)
	o.Method, o.More = "empty", []Method{{Name: "empty",
		Condense: func(_ context.Context, t *T, _ *Held, r *Run, _ []infer.Model) (*Result, error) {
			c := condense.Degree(r.Input(t), r.Rand())
			c.M = &graph.CSR{Rows: c.M.Rows, Cols: c.M.Cols, RowPtr: make([]int, c.M.Rows+1)}
			return &Result{Condensation: c}, nil
		}}}
	expect.Error(t, expect.ErrorOf(Train(t.Context(), small(t, generate.Dense), o, created, Silent{})),
		"a mapping M without entries")
}

// The paper's Eq. 11 as a graph: S attached to the support nodes is symmetric and has their edges to S and among
// themselves.
func TestSection2Attached(t *testing.T) {
	d := small(t, generate.BagOfWords)
	o := options(15)
	o.Method, o.More = "degree", []Method{{Name: "degree",
		Condense: func(_ context.Context, t *T, _ *Held, r *Run, _ []infer.Model) (*Result, error) {
			return &Result{Condensation: condense.Degree(r.Input(t), r.Rand())}, nil
		}}}
	k := makeReady(t, d, o)
	r := recipeOf(t, k)
	all := eval.Attach(d, k.Original, [][]int32{d.Validation}, attach.Graph).On(r.result.M, graph.Slots{}).Batches[0]
	got := product.Attached(r.result.Synthetic.Adj, all.R, all.Adj)
	if got.NNZ() != r.result.Synthetic.Adj.NNZ()+2*all.R.NNZ()+all.Adj.NNZ() {
		t.Errorf("%d entries", got.NNZ())
	}
	if diff := cmp.Diff(got, got.Transpose()); diff != "" {
		t.Error("not symmetric")
	}
	joint := r.whole[0].Model.Joint(r.result.Synthetic.Adj, preprocess.Ready(r.result.Synthetic.X),
		k.Preprocess).Logits(all)
	tables, err := r.result.Tables(r.whole[0].Model)
	expect.OK(t, err)
	// Frozen on those tables the same nodes differ from joint ones by their own share in S's degrees and rows only.
	frozen := r.whole[0].Model.Frozen(tables, k.Preprocess).Logits(all)
	same := 0
	for i := range joint.Rows {
		if graph.ArgMax(joint.Row(i)) == graph.ArgMax(frozen.Row(i)) {
			same++
		}
	}
	if share := float64(same) / float64(joint.Rows); share < 0.8 {
		t.Errorf("%.0f%% of the support nodes are predicted alike", 100*share)
	}
	if math.IsNaN(float64(frozen.Data[0])) {
		t.Error("NaN")
	}
}
