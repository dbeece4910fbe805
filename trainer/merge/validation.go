package merge

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"rivulet/dataset"
	"rivulet/dataset/table"
	"rivulet/graph"
)

// ValidationSet implements [Graph] with validation nodes in memory, with features and class, and the ids of their
// neighbours, which have neither: as much of the graph as a refresh reads to measure an artifact. They are all
// validation nodes, or a sample of about most of them by hash of the id.
func (t *Tables) ValidationSet(ctx context.Context, most int64) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: t.Stream.Name, Classes: t.Classes}
	all := int64(0)
	err := t.Stream.EachID(func(n table.Node) error {
		if n.Split == "val" {
			all++
		}
		return every(ctx, n.Row)
	})
	if err != nil {
		return nil, err
	}
	limit := uint64(math.MaxUint64)
	if all > most {
		limit = uint64(float64(most) / float64(all) * math.MaxUint64)
	}
	index := map[string]int32{}
	x := &graph.Dense{Cols: t.Stream.Features}
	err = t.Stream.EachNode(func(n table.Node) error {
		if n.Split != "val" || xxhash.Sum64String(n.ID) > limit {
			return every(ctx, n.Row)
		}
		class := slices.Index(t.Classes, n.Label)
		if class < 0 {
			return fmt.Errorf("nodes row %d: class %.100q is not among the classes %.100q", n.Row, n.Label, t.Classes)
		}
		i := int32(len(d.IDs))
		index[n.ID] = i
		d.IDs, d.Labels, d.Validation = append(d.IDs, n.ID), append(d.Labels, int32(class)), append(d.Validation, i)
		x.Data = append(x.Data, n.Features...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.Rows = len(d.IDs)
	d.X = graph.Features{Dense: x}
	return d, t.neighbours(ctx, d, index)
}

// neighbours adds the neighbours of d's nodes to d; index has d's nodes by id.
func (t *Tables) neighbours(ctx context.Context, d *dataset.Dataset, index map[string]int32) error {
	rows := make([][]int32, len(d.IDs))
	node := func(id string) int32 {
		i, known := index[id]
		if !known {
			i = int32(len(d.IDs))
			index[id] = i
			d.IDs, d.Labels = append(d.IDs, id), append(d.Labels, -1)
		}
		return i
	}
	sampled := func(id string) (int32, bool) {
		i, known := index[id]
		return i, known && int(i) < len(rows)
	}
	err := t.Stream.EachEdge(func(e table.Edge) error {
		if e.Source == e.Target {
			return nil
		}
		if i, is := sampled(e.Source); is {
			rows[i] = append(rows[i], node(e.Target))
		}
		if i, is := sampled(e.Target); is {
			rows[i] = append(rows[i], node(e.Source))
		}
		return every(ctx, e.Row)
	})
	if err != nil {
		return err
	}
	d.Adj = &graph.CSR{Rows: len(d.IDs), Cols: len(d.IDs), RowPtr: make([]int, len(d.IDs)+1)}
	for i := range d.IDs {
		if i < len(rows) {
			slices.Sort(rows[i])
			d.Adj.ColIdx = append(d.Adj.ColIdx, slices.Compact(rows[i])...)
		}
		d.Adj.RowPtr[i+1] = len(d.Adj.ColIdx)
	}
	return nil
}
