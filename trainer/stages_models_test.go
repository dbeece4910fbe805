package trainer

import (
	"context"
	"testing"

	"rivulet/test/expect"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
)

// severalModels are options of a run with a model of each kind.
func severalModels() Options {
	o := stagedOptions()
	o.Models, o.Hidden = []string{"sgc", "gcn", "sage", "appnp", "ssgc"}, 12
	o.WeightDecays = []float64{1e-3}
	return o
}

// A run of several models gives the same bytes on engines memory and disk and by messages.
func TestStagedModelsOnEveryEngine(t *testing.T) {
	d, o := generated(t, "pubmed"), severalModels() // with unlabelled nodes
	inMemory, out := trainStaged(t, local.NewMemory(solved.Functions, Silent{}), d, o)
	onDisk, _ := trainStaged(t, openDisk(t, t.TempDir(), int64(d.Nodes()*d.X.Cols())), d, o)
	sameFiles(t, inMemory, onDisk)
	messages, _ := trainStaged(t, withMessages{local.NewMemory(solved.Functions, Silent{})}, d, o)
	sameFiles(t, inMemory, messages)
	for _, name := range o.Models {
		if out.Bundle.Growth.Messages[name].U == nil {
			t.Errorf("no messages of %s for growth", name)
		}
	}
}

// On real graphs models with hidden layers answer about as well by stages as they do in memory. What differs is the
// order of the nodes, and with it what dropout leaves out.
func TestStagedModelsOnRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("fits models with hidden layers twice")
	}
	d, o := realSet(t, "cora"), stagedOptions()
	o.Own = OwnNever // a row for each setting
	o.Models, o.Propagate, o.WeightDecays, o.Hidden = []string{"gcn", "appnp"}, false, []float64{1e-2, 1e-4}, 64
	_, out := trainStaged(t, local.NewMemory(solved.Functions, Silent{}), d, o)
	usual, err := Train(context.Background(), d, o, stagedTime, Silent{})
	expect.OK(t, err)
	compared := 0
	for _, r := range out.Results {
		for _, u := range usual.Results {
			if r.Model != u.Model || r.Setting != u.Setting || r.Batch != u.Batch || r.Attachment != u.Attachment {
				continue
			}
			compared++
			t.Logf("%s %s %s: accuracy %.2f, usually %.2f", r.Model, r.Setting, r.Batch, r.Accuracy.Mean, u.Accuracy.Mean)
			if r.Accuracy.Mean < u.Accuracy.Mean-3 {
				t.Errorf("%s %s %s: accuracy %.2f, usually %.2f", r.Model, r.Setting, r.Batch, r.Accuracy.Mean, u.Accuracy.Mean)
			}
		}
	}
	if compared != 4 {
		t.Errorf("%d rows compared, want 4: two models, two kinds of batches", compared)
	}
}
