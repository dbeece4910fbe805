package methods

import (
	"slices"
	"testing"

	"rivulet/dataset/generate"
	"rivulet/infer/propagation"
	"rivulet/lab/mcond"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// Every method is measured in every setting that it has, and its M has entries: a run refuses one that has none. A
// method that is new in the list has to be named here.
func TestEveryMethodInEverySetting(t *testing.T) {
	d, err := generate.Graph(generate.Generator{Name: "every", Nodes: 300, Edges: 1200, Classes: 3, Communities: 6,
		CommunityShare: 0.6, ClassShare: 0.2, DegreeExponent: 2.6, Kind: generate.Dense, Features: 12, CommunityTopic: 0.6,
		ClassTopic: 0.6, Train: 180, Validation: 60, Test: 60}, 1)
	expect.OK(t, err)
	learn := mcond.Defaults(180)
	learn.Rounds = 2
	all := []string{eval.OtoO, eval.OtoS, eval.StoO, eval.StoS}
	onT, frozen := []string{eval.OtoO, eval.StoO}, []string{eval.OtoO, eval.OtoS}
	settings := map[string][]string{
		trainer.MethodSolved: all, trainer.MethodCluster: all, Learned: all, Random: all, Degree: all, Herding: all,
		KCenter: all, GCond: onT, GCondX: onT, DosCond: onT, VNG: frozen, trainer.MethodCached: frozen,
		trainer.MethodLogreg: frozen, trainer.MethodMLP: frozen, trainer.MethodGLNN: frozen, trainer.MethodEvidence: frozen,
	}
	more := All(Settings{Learn: &learn})
	if names := trainer.Methods(more); len(names) != len(settings) {
		t.Errorf("methods %v, the test knows %d", names, len(settings))
	}
	for _, name := range trainer.Methods(more) {
		t.Run(name, func(t *testing.T) {
			o := trainer.Defaults()
			o.Method, o.More, o.Nodes, o.Costs, o.Own, o.WeightDecays = name, more, 15, false, trainer.OwnNever, []float64{1e-3}
			series, err := trainer.NewSeries(d, o, trainer.Silent{})
			expect.OK(t, err)
			rows, err := series.Measure(t.Context(), o, trainer.Measurements{Kinds: propagation.Names()}, trainer.Silent{})
			expect.OK(t, err)
			var got []string
			for _, r := range rows {
				if !slices.Contains(got, r.Setting) {
					got = append(got, r.Setting)
				}
				if right := r.Score("accuracy").Mean; right < 45 { // of three classes
					t.Errorf("%s, %s batches, calibration %s: %.1f%% right", r.Setting, r.Batch, r.Calibration, right)
				}
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(settings[name]))) {
				t.Errorf("settings %v, want %v", got, settings[name])
			}
		})
	}
}
