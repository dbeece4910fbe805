package spark_test

import (
	"path/filepath"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/trainer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/spark"
	"rivulet/trainer/stage/spark/connect"
)

// Models with hidden layers, which are fitted in a subgraph that is smaller than T, have on Spark the bytes that they have in
// memory.
func TestSparkGivesTheModelsOfMemory(t *testing.T) {
	a, d := realSpark(t), generated(t)
	want := trainModels(t, local.NewMemory(solved.Functions, trainer.Silent{}), d)
	e := open(t, spark.Connect(connect.New(a, nil)), t.TempDir(), 4, workers(t))
	sameFiles(t, want, trainModels(t, e, d))
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func trainModels(t *testing.T, e stage.Engine, d *dataset.Dataset) string {
	t.Helper()
	o := options()
	o.Models, o.Hidden, o.WeightDecays, o.Subgraph, o.Propagate = []string{"gcn", "sgc"}, 8, []float64{1e-3}, 64<<10, false
	s, err := trainer.StagedOf(d, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := trainer.TrainStaged(t.Context(), e, s, o, created, trainer.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if of := out.Bundle.Manifest.Models[0]; of.Sample == 0 || of.Sample >= out.Bundle.Manifest.Data.Nodes {
		t.Errorf("%s was fitted in %d of %d nodes", of.Name, of.Sample, out.Bundle.Manifest.Data.Nodes)
	}
	dir := filepath.Join(t.TempDir(), "artifact")
	if err := artifact.Write(dir, out.Bundle); err != nil {
		t.Fatal(err)
	}
	return dir
}
