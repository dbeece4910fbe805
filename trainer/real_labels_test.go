package trainer

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"rivulet/dataset"
	"rivulet/test/datatest"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// classesOf returns the class of every node of a shared set, also of nodes whose class a data set hides.
func classesOf(t *testing.T, name string, nodes int) []int32 {
	text, err := os.ReadFile(filepath.Join(datatest.Dir(t, name), "class_map.json"))
	expect.OK(t, err)
	var of map[string]int32
	expect.OK(t, json.Unmarshal(text, &of))
	out := make([]int32, nodes)
	for i := range out {
		out[i] = of[strconv.Itoa(i)]
	}
	return out
}

// On real graphs micro F1 and mean average precision on S are those of arrivals that are each truly joined to T, of sgc
// within half a point over five seeds, of gcn over two within a point, on the smaller graph. Of edges with weights both
// are within a point.
func TestLabelsOnRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of training; left out with -short")
	}
	for _, set := range explainedSets[:2] {
		d := realSet(t, set.name)
		d = neighbouring(d, classesOf(t, set.name, d.Nodes()))
		d.Test = joined(d.Test)
		for model, c := range map[string]struct {
			seeds uint64
			most  float64
		}{"sgc": {realSeeds(5), 0.5}, "gcn": {realSeeds(2), 1}} {
			if model == "gcn" && set.name != "cora" {
				continue // a minute of training
			}
			withWeights(d, func(d *dataset.Dataset, weights string) {
				var scores [3]map[string][]float64 // micro F1, mAP, calibration error by setting
				for k := range scores {
					scores[k] = map[string][]float64{}
				}
				for seed := range c.seeds {
					o := Defaults()
					o.Models, o.Nodes, o.Costs, o.Batch, o.Seed = []string{model}, set.nodes, false, 1, seed
					for _, r := range mustTrain(t, d, o).Results {
						if r.Batch == NodeBatch && !r.SharedM {
							for k, v := range []float64{r.Score("micro_f1").Mean, r.Score("map").Mean, r.ECE.Mean} {
								scores[k][r.Setting] = append(scores[k][r.Setting], v)
							}
						}
					}
				}
				for _, setting := range []string{eval.OtoO, eval.OtoS, eval.StoO, eval.StoS} {
					var of [3]eval.Spread
					for k := range scores {
						of[k] = eval.SpreadOf(scores[k][setting])
					}
					t.Logf("%s, %s, %s %s: micro F1 %.2f ±%.2f, mAP %.2f ±%.2f, calibration error %.2f", set.name, weights,
						model, setting, of[0].Mean, of[0].Std, of[1].Mean, of[1].Std, of[2].Mean)
				}
				most := c.most
				if weights != withoutWeights {
					most = 1
				}
				for k, what := range []string{"micro F1", "mAP"} {
					alone, onS := eval.SpreadOf(scores[k][eval.OtoO]).Mean, eval.SpreadOf(scores[k][eval.OtoS]).Mean
					if math.Abs(alone-onS) > most || alone < 60 {
						t.Errorf("%s, %s, %s: %s %.2f joined alone and %.2f on S", set.name, weights, model, what, alone, onS)
					}
				}
			})
		}
	}
}
