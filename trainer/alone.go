package trainer

import (
	"context"
	"slices"

	"rivulet/dataset"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/trainer/deploy"
	"rivulet/trainer/eval"
	"rivulet/trainer/sample"
)

// aloneWork bounds the sum over the test nodes that are joined to T one at a time of T's edges times the classes: about
// ten seconds. On a graph of 20 million edges with 41 classes that leaves the fewest nodes.
const (
	aloneWork   = 5_000_000_000
	aloneFewest = 100
)

// measureAlone compares the row that is served with the whole graph when each test node arrives alone, and adds that to
// the row. In other rows on T the nodes of a batch are joined at once and change each other's degrees, as in the paper.
func measureAlone(ctx context.Context, t *T, h *Held, r *Run, deployments []deploy.Row, results []eval.Result) error {
	const what = "joining test nodes to the whole graph one by one"
	mode := slices.Index(t.modes(), attach.Node)
	served := slices.IndexFunc(deployments, func(d deploy.Row) bool { return d.Served })
	if !t.task.Can(target.Comparison) || len(results) == 0 || mode < 0 || served < 0 {
		return nil
	}
	whole := slices.IndexFunc(deployments, func(d deploy.Row) bool {
		return d.Setting == eval.OtoO && d.Model.Name() == deployments[served].Model.Name()
	})
	if whole < 0 {
		return nil
	}
	nodes := sample.Evenly(h.data.Test, max(aloneFewest, aloneWork/(max(1, t.Adj.NNZ())*t.Classes())))
	r.Progress.Step(what, 0, len(nodes))
	set := eval.Attach(h.data, t.Original, dataset.Batches(nodes, 1), attach.Node)
	onT, onS := deployments[whole], deployments[served]
	joined := &eval.Answer{Task: t.task}
	predictor, batches := onT.Quick(), onT.On(set)
	for k, b := range batches.Batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		joined.Add(predictor.Predict(b))
		r.Progress.Step(what, k+1, len(nodes))
	}
	answer := eval.Run(onS.Quick(), onS.On(set))
	results[mode*len(deployments)+served].Alone = &eval.Alone{Nodes: len(nodes), Of: len(h.data.Test),
		Accuracy: answer.Accuracy(set), Whole: joined.Accuracy(set), Agreement: eval.Equal(answer.Class, joined.Class)}
	return nil
}
