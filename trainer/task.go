package trainer

import (
	"fmt"
	"math/rand/v2"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
)

// task is a data set made ready for training: T, its preprocessing, the support nodes and the test nodes.
type task struct {
	options  Options
	data     *dataset.Dataset
	original *dataset.Original
	hat      *graph.CSR // Â of T
	pre      *infer.Preprocess
	x        *features.Factored // pre(X) of T
	labelled []int32            // nodes of T that have a class
	nodes    int                // N'
	// support are the validation nodes in graph batches, test the test nodes by mode of batch, all attached to T.
	support *eval.Set
	test    map[string]*eval.Set
}

// Modes of a batch.
const (
	GraphBatch = "graph"
	NodeBatch  = "node"
)

var modes = []string{GraphBatch, NodeBatch}

func newTask(d *dataset.Dataset, o Options) (*task, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t := &task{options: o, data: d, original: d.Original()}
	for i, y := range t.original.Labels {
		if y >= 0 {
			t.labelled = append(t.labelled, int32(i))
		}
	}
	t.nodes = o.syntheticNodes(t.original.Adj.Rows, len(t.labelled), len(d.Classes))
	t.hat = graph.Normalised(t.original.Adj)
	var err error
	if t.pre, err = features.Fit(o.Preprocess, t.original.X, d.BagOfWords, t.hat); err != nil {
		return nil, fmt.Errorf("fitting the preprocessing of %s: %w", d.Name, err)
	}
	t.x = features.Factor(t.original.X, t.pre)
	t.support = t.set(d.Validation, GraphBatch)
	t.test = map[string]*eval.Set{}
	for _, mode := range modes {
		t.test[mode] = t.set(d.Test, mode)
	}
	return t, nil
}

// set cuts nodes of the data set into batches on T.
func (t *task) set(nodes []int32, mode string) *eval.Set {
	s := &eval.Set{}
	for _, batch := range dataset.Batches(nodes, t.options.Batch) {
		labels := make([]int32, len(batch))
		for k, i := range batch {
			labels[k] = t.data.Labels[i]
		}
		s.Batches = append(s.Batches, t.data.Attach(t.original, batch, mode == GraphBatch))
		s.Labels = append(s.Labels, labels)
	}
	return s
}

// rng is a random stream of its own for each purpose, so that one more draw in one place moves nothing elsewhere.
func (t *task) rng(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(t.options.Seed, purpose)) }

// Purposes of random streams.
const (
	purposeProjection = iota + 1
	purposeClusters
)

func (t *task) classes() int { return len(t.data.Classes) }

// labelsOf are the classes of the labelled nodes.
func (t *task) labelsOf(nodes []int32) []int32 {
	out := make([]int32, len(nodes))
	for k, i := range nodes {
		out[k] = t.original.Labels[i]
	}
	return out
}
