package trainer

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"rivulet/test/datatest"
	"rivulet/trainer/eval"
)

// classesOf returns the class of every node of a shared set, also of nodes whose class a data set hides.
func classesOf(t *testing.T, name string, nodes int) []int32 {
	text, err := os.ReadFile(filepath.Join(datatest.Dir(t, name), "class_map.json"))
	if err != nil {
		t.Fatal(err)
	}
	var of map[string]int32
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	out := make([]int32, nodes)
	for i := range out {
		out[i] = of[strconv.Itoa(i)]
	}
	return out
}

// On real graphs micro F1 and mean average precision on S are those of arrivals that are each truly joined to T, within
// half a point, over five seeds.
func TestLabelsOnRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains ten times")
	}
	for _, set := range explainedSets[:2] {
		d := realSet(t, set.name)
		d = neighbouring(d, classesOf(t, set.name, d.Nodes()))
		var f1, precision, ece = map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		for seed := range uint64(5) {
			o := Defaults()
			o.Nodes, o.Costs, o.Batch, o.Seed = set.nodes, false, 1, seed
			for _, r := range mustTrain(t, d, o).Results {
				if r.Batch == NodeBatch && !r.SharedM {
					f1[r.Setting] = append(f1[r.Setting], r.Labels.MicroF1.Mean)
					precision[r.Setting] = append(precision[r.Setting], r.Labels.MAP.Mean)
					ece[r.Setting] = append(ece[r.Setting], r.ECE.Mean)
				}
			}
		}
		for _, setting := range []string{eval.OtoO, eval.OtoS, eval.StoO, eval.StoS} {
			f, p, e := eval.SpreadOf(f1[setting]), eval.SpreadOf(precision[setting]), eval.SpreadOf(ece[setting])
			t.Logf("%s %s: micro F1 %.2f ±%.2f, mAP %.2f ±%.2f, calibration error %.2f", set.name, setting, f.Mean, f.Std,
				p.Mean,
				p.Std, e.Mean)
		}
		for what, of := range map[string]map[string][]float64{"micro F1": f1, "mAP": precision} {
			alone, onS := eval.SpreadOf(of[eval.OtoO]).Mean, eval.SpreadOf(of[eval.OtoS]).Mean
			if math.Abs(alone-onS) > 0.5 || alone < 60 {
				t.Errorf("%s: %s %.2f joined alone and %.2f on S", set.name, what, alone, onS)
			}
		}
	}
}
