package prequential

import (
	"context"

	"rivulet/dataset"
	"rivulet/trainer/eval"
)

// Answers are a version's answers to arrivals, in their order.
type Answers struct {
	Class []int32
	Known int // edges to nodes that have a row of M, over all arrivals
	Past  int // edges to nodes that came before, over all arrivals
}

// Replay predicts arrivals, whose nodes in the data set stand in the order of their arrival, in micro-batches of at
// most size. An arrival has edges to nodes before it only, and those of its micro-batch are unknown, as in a node
// batch. With grow each arrival gets a row of M after its prediction, which stays in the version.
func Replay(ctx context.Context, d *dataset.Dataset, v *Version, arrivals []int32, size int, grow bool) (*Answers,
	error) {
	out := &Answers{}
	for _, batch := range dataset.Batches(arrivals, size) {
		set, err := eval.LookUp(ctx, d, v, batch, len(batch), true)
		if err != nil {
			return nil, err
		}
		out.Class = append(out.Class, eval.Run(v, set).Class...)
		for k, i := range batch {
			out.Known += int(set.Batches[0].Known[k])
			out.Past += past(d, i)
		}
		if grow {
			v.keep(d, batch, set.Batches[0])
		}
	}
	return out, nil
}

// past returns how many neighbours of a node came before it.
func past(d *dataset.Dataset, i int32) (n int) {
	cols, _ := d.Adj.Row(int(i))
	for _, j := range cols {
		if j < i {
			n++
		}
	}
	return n
}
