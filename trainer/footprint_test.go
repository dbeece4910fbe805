package trainer

import (
	"math"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset/generate"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// fixed takes a million bytes for ids in a consumer, and ten for an entry in a consumer, four in Redis.
type fixed struct{}

func (fixed) Held(m *artifact.Mapping) int64   { return 1_000_000 + 10*int64(m.Rows.NNZ()) }
func (fixed) Stored(m *artifact.Mapping) int64 { return 4 * int64(m.Rows.NNZ()) }

// Memory is counted with what stands for T's nodes: M in a consumer and in Redis, T's own tables with the ids
// of M, and nothing for Whole, which has T.
func TestSection8MemoryWithM(t *testing.T) {
	d := partly(small(t, generate.BagOfWords))
	o := options(18)
	o.Costs, o.Keeper = true, fixed{}
	ids := int64(0)
	for _, id := range d.Original().IDs {
		ids += int64(len(id))
	}
	rows, err := Study(t.Context(), d, StudyOptions{Run: o, Methods: []string{MethodSolved, MethodCached},
		Seeds: []uint64{1}, Calibrations: []string{infer.PropagateNone}}, Silent{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		entries := r.KeptBytes / 8
		want := footprint{1_000_000 + 10*entries, 4 * entries}
		switch {
		case r.Setting == eval.OtoO || r.Setting == eval.StoO:
			want = footprint{}
		case r.Method == MethodCached:
			want = footprint{1_000_000 + r.KeptBytes, ids + r.KeptBytes}
		}
		if got := (footprint{r.HeldBytes, r.StoredBytes}); got != want {
			t.Errorf("%s %s: %+v, want %+v", r.Method, r.Setting, got, want)
		}
		if r.Method == MethodCached && r.Setting == eval.OtoS && r.InferenceBytes > 3*r.KeptBytes/2 {
			t.Errorf("%d bytes beside T's own tables, which are %d: they are counted twice", r.InferenceBytes, r.KeptBytes)
		}
		seen[r.Method+" "+r.Setting] = true
	}
	if !seen["solved O->S"] || !seen["cached O->S"] {
		t.Errorf("rows %v", seen)
	}
}

// comparedWithWhole checks that gains and losses of a row are the difference of its accuracy from Whole's.
func comparedWithWhole(t *testing.T, r *eval.Result, nodes int, all []eval.Result) {
	t.Helper()
	if r.Setting == eval.OtoO && r.Attachment == artifact.AttachJoint {
		if r.Calibration == infer.PropagateNone && r.VersusWhole != nil {
			t.Errorf("Whole is compared with itself: %+v", r.VersusWhole)
		}
		return
	}
	for _, whole := range all {
		if whole.Setting != eval.OtoO || whole.Attachment != artifact.AttachJoint || whole.Batch != r.Batch ||
			whole.Calibration != infer.PropagateNone {
			continue
		}
		net := 0
		for k := range r.VersusWhole.Better {
			net += r.VersusWhole.Better[k] - r.VersusWhole.Worse[k]
		}
		got := 100 * float64(net) / float64(nodes*len(r.Seeds))
		if want := r.Accuracy.Mean - whole.Accuracy.Mean; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s %s %s: gains less losses are %v%%, accuracies differ by %v", r.Method, r.Setting, r.Batch,
				got, want)
		}
		return
	}
	t.Errorf("no row of Whole beside %s %s", r.Method, r.Setting)
}
