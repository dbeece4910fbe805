package spark_test

import (
	"testing"

	"rivulet/trainer"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/spark"
	"rivulet/trainer/stage/spark/connect"
)

// Models with hidden layers, which are fitted in a subgraph that is smaller than T, have on Spark the bytes that they
// have in memory.
func TestSparkGivesTheModelsOfMemory(t *testing.T) {
	a, d, o := realSpark(t), generated(t), options()
	o.Models, o.Hidden, o.WeightDecays, o.Subgraph, o.Propagate = []string{"gcn", "sgc"}, 8, []float64{1e-3}, 64<<10, false
	want, out := trainWith(t, local.NewMemory(solved.Functions, trainer.Silent{}), d, o)
	if of := out.Bundle.Manifest.Models[0]; of.Sample == 0 || of.Sample >= out.Bundle.Manifest.Data.Nodes {
		t.Errorf("%s was fitted in %d of %d nodes", of.Name, of.Sample, out.Bundle.Manifest.Data.Nodes)
	}
	e := open(t, spark.Connect(connect.New(a, nil)), t.TempDir(), 4, workers(t))
	got, _ := trainWith(t, e, d, o)
	sameFiles(t, want, got)
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
