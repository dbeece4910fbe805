package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rivulet/dataset"
	"rivulet/event"
	"rivulet/schema"
	"rivulet/trainer"
	"rivulet/trainer/features"
	"rivulet/trainer/sample"
)

// Bounds of the sample.
const (
	sampleNodes = 500 // training nodes
	sampleHeld  = 10  // validation nodes, and as many test nodes
)

// ErrNoSample is wrapped by the error of a sample that no model can be trained on: nothing is known of the whole data
// set then.
var ErrNoSample = errors.New("no model can be trained on a sample of the data set")

// Sample trains a small model on a sample of a data set, and sends nodes of each role through the consumer's path, as
// [Answers] says. It takes a second or less, and finds, before the long training, data that consumers would read
// otherwise than the trainer. It returns the number of nodes that were sent.
func Sample(ctx context.Context, d *dataset.Dataset, o trainer.Options, l event.Limits) (sent int, err error) {
	if d.Columns != nil {
		if _, o.Keep, err = features.Encode(d, o.Keep, o.Schema); err != nil { // the schema of all nodes, not of the sample
			return 0, err
		}
	}
	o.Costs, o.Propagate, o.Map, o.Representation = false, false, false, false
	o.WeightDecays = []float64{1e-3} // how well the model predicts does not matter
	outcome, err := trainer.Train(ctx, sampleOf(d), o, time.Time{}, trainer.Silent{})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNoSample, err)
	}
	_, err = Answers(ctx, outcome.Bundle, outcome.Answers, l)
	return len(outcome.Answers), err
}

// sampleOf returns a data set of some nodes of each role, and the neighbours in T of the held-out ones.
func sampleOf(d *dataset.Dataset) *dataset.Dataset {
	const none, train, unlabelled, validation, test = 0, 1, 2, 3, 4
	roles := make([]byte, d.Nodes())
	for role, nodes := range map[byte][]int32{train: d.Train, unlabelled: d.Unlabelled} {
		for _, i := range nodes {
			roles[i] = role
		}
	}
	taken := map[int32]byte{}
	for _, i := range sample.Evenly(d.Train, sampleNodes) {
		taken[i] = train
	}
	for role, nodes := range map[byte][]int32{validation: d.Validation, test: d.Test} {
		for _, i := range sample.Evenly(nodes, sampleHeld) {
			taken[i] = role
			cols, _ := d.Adj.Row(int(i))
			for _, j := range cols {
				if roles[j] != none {
					taken[j] = roles[j]
				}
			}
		}
	}
	var order []int32
	index := slices.Repeat([]int32{-1}, d.Nodes())
	out := &dataset.Dataset{Name: d.Name, Classes: d.Classes, BagOfWords: d.BagOfWords, Dropped: d.Dropped,
		Schema: d.Schema, Task: d.Task, NodeTypes: d.NodeTypes}
	for i := range int32(d.Nodes()) {
		role, ok := taken[i]
		if !ok {
			continue
		}
		k := int32(len(order))
		index[i], order = k, append(order, i)
		out.IDs, out.Labels = append(out.IDs, d.IDs[i]), append(out.Labels, d.Labels[i])
		list := map[byte]*[]int32{train: &out.Train, unlabelled: &out.Unlabelled, validation: &out.Validation,
			test: &out.Test}[role]
		*list = append(*list, k)
	}
	out.Adj = d.Adj.Submatrix(order, index, len(order))
	if d.Targets != nil {
		out.Targets = d.Targets.Take(order)
	}
	if d.Columns == nil {
		out.X = d.X.Take(order)
	}
	for k := range d.Columns {
		of := &d.Columns[k]
		column := schema.Column{Name: of.Name, Type: of.Type, Categorical: of.Categorical}
		for _, i := range order {
			column.Append(of.At(int(i)))
		}
		out.Columns = append(out.Columns, column)
	}
	return out
}
