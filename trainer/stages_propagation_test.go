package trainer

import (
	"math"
	"testing"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/trainer/tables"
)

// Tables of label and error propagation of a staged run are those that are fitted for its M to T's own, which are
// computed at once in floats; and the accuracies with them on the test nodes are measured.
func TestStagedPropagationIsThatOfT(t *testing.T) {
	for name, d := range generatedSets(t) {
		t.Run(name, func(t *testing.T) {
			o := stagedOptions()
			_, out := stagedInMemory(t, name, d, o)
			task, err := newTask(d, o)
			expect.OK(t, err)
			model := out.Bundle.Models[0]
			m, err := infer.Build(model.Name, model.Params)
			expect.OK(t, err)
			task.pre = &out.Bundle.Preprocess
			task.inputs = task.pre.Raw(task.original.X)
			fitter, err := tables.NewFitter(inOrder(t, out, task.original.IDs), tables.MeetingWeights(task.original.Adj))
			expect.OK(t, err)
			for _, kind := range propagation.Names() {
				got := model.Propagations[kind]
				info := out.Bundle.Manifest.Models[0].Propagation[kind]
				want, err := fitter.Fit(task.propagationOnT(kind, m, info.Alpha))
				expect.OK(t, err)
				if got == nil || len(got.U) != len(want.U) {
					t.Fatalf("%s: tables %v, want %d", kind, got, len(want.U))
				}
				for k, u := range want.U {
					alike(t, kind, k, got.U[k], u)
				}
			}
			measured := map[string]int{}
			for _, r := range out.Results {
				measured[r.Setting+" "+r.Calibration]++
			}
			for _, key := range []string{"O->O lp", "O->O ep", "O->S lp", "O->S ep"} {
				if measured[key] != len(modes) {
					t.Errorf("%s was measured %d times, want %d: %v", key, measured[key], len(modes), measured)
				}
			}
		})
	}
}

// inOrder is the M of a run in the order of ids.
func inOrder(t *testing.T, out *Outcome, ids []string) *graph.CSR {
	t.Helper()
	at := map[string]int32{}
	for k, id := range out.Bundle.Mapping.IDs {
		at[id] = int32(k)
	}
	order := make([]int32, len(ids))
	for k, id := range ids {
		order[k] = at[id]
	}
	return out.Bundle.Mapping.Rows.Take(order)
}

// alike fails unless two tables are equal to a thousandth of their largest value: the normal equations of M make
// more of a rounding.
func alike(t *testing.T, kind string, step int, got, want *graph.Dense) {
	t.Helper()
	largest, gap := 0.0, 0.0
	for k, v := range want.Data {
		largest = max(largest, math.Abs(float64(v)))
		gap = max(gap, math.Abs(float64(v)-float64(got.Data[k])))
	}
	if gap > 1e-3*largest || largest == 0 {
		t.Errorf("%s, table %d: %g apart of %g at most", kind, step, gap, largest)
	}
}

// Without propagation neither engine makes tables of it, and a run that inherits from such an artifact has none.
func TestWithoutPropagation(t *testing.T) {
	d, o := generated(t, "small"), stagedOptions()
	o.Propagate = false
	_, staged := stagedInMemory(t, "small", d, o)
	usual, err := Train(t.Context(), d, o, stagedTime, Silent{})
	expect.OK(t, err)
	for name, out := range map[string]*Outcome{"stages": staged, "usual": usual} {
		m := out.Bundle.Models[0]
		if m.Propagations != nil || len(out.Bundle.Manifest.Models[0].Propagation) > 0 {
			t.Errorf("%s: propagation %v", name, out.Bundle.Manifest.Models[0].Propagation)
		}
		if was, err := Inherit(&out.Bundle.Manifest, nil); err != nil || was.Propagate {
			t.Errorf("%s: the next run propagates: %v", name, err)
		}
	}
}
