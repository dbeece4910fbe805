package original

import (
	"cmp"
	"context"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
)

// LabelledRows are rows of Â²·pre(X) of labelled nodes, or of its projection where that is propagated.
type LabelledRows struct {
	Labels []int32
	X      *graph.Dense
	nodes  []solved.Number
	rows   []int64 // of the data
}

// inOrder returns the labels in the order of the data, and that order. It moves the rows of x to it.
func (l *LabelledRows) inOrder(x *graph.Dense) (labels, order []int32) {
	order = make([]int32, len(l.rows))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(l.rows[a], l.rows[b]) })
	moved, first := make([]bool, len(order)), make([]float32, x.Cols)
	for start := range order { // a cycle of moves at a time: a copy of all rows may be large
		if moved[start] {
			continue
		}
		copy(first, x.Row(start))
		at := start
		for next := int(order[at]); next != start; at, next = next, int(order[next]) {
			copy(x.Row(at), x.Row(next))
			moved[at] = true
		}
		copy(x.Row(at), first)
		moved[at] = true
	}
	labels = make([]int32, len(order))
	for k, i := range order {
		labels[k] = l.Labels[i]
	}
	return labels, order
}

func (t *Tables) readLabelled(ctx context.Context, from stage.Table) (*LabelledRows, error) {
	index := t.classIndex()
	out := &LabelledRows{X: &graph.Dense{}}
	for r, err := range t.engine.Read(ctx, from) {
		if err != nil {
			return nil, err
		}
		rows, err := solved.ReadLabelled(r.Payload)
		if err != nil {
			return nil, err
		}
		for k, place := range rows.Places {
			out.nodes = append(out.nodes, solved.Number{Block: r.Key, Place: place})
			out.Labels = append(out.Labels, index[rows.Labels[k]])
		}
		out.rows = append(out.rows, rows.Rows...)
		out.X.Cols, out.X.Data = rows.X.Cols, append(out.X.Data, rows.X.Data...)
	}
	out.X.Rows = len(out.nodes)
	return out, nil
}
