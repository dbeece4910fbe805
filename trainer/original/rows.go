package original

import (
	"cmp"
	"errors"
	"iter"

	"rivulet/dataset"
	"rivulet/dataset/table"
	"rivulet/infer"
	"rivulet/schema"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
)

// payloadBytes is about the size of a payload of rows.
const payloadBytes = 1 << 16

// RowData is a data set as rows, which need not fit into memory.
type RowData struct {
	Name         string
	Nodes, Edges stage.Source
	Count        int64    // nodes, whatever their role
	Features     int      // columns of a row in memory: d, or as many as sparse features take
	Classes      []string // nil: the labels of the training nodes in the order that tables give them
	BagOfWords   bool
	Schema       *schema.Schema
	// Weights gives the models to use as W_O, by name, for so many features and classes, once these are known; nil: the
	// models of the run's options.
	Weights func(features, classes int) (map[string]infer.Model, error)
	// Named gives the values of a node by name; nil: they are not at hand.
	Named func(id string) []schema.Field

	dropUnknown bool // edges to and from ids that no node has are dropped and counted, and are no error
}

// OfDataset gives the rows of a data set in memory, whose features have positions. identity stands for the data in the
// names of tables. A row of sparse features counts as at most so many columns.
func OfDataset(d *dataset.Dataset, identity string, columns int) RowData {
	roles := make([]partition.Role, d.Nodes())
	for role, nodes := range map[partition.Role][]int32{partition.Train: d.Train, partition.Unlabelled: d.Unlabelled,
		partition.Validation: d.Validation, partition.Test: d.Test} {
		for _, i := range nodes {
			roles[i] = role
		}
	}
	if d.X.Sparse == nil || d.X.Cols() < columns {
		columns = d.X.Cols()
	}
	return RowData{
		Name:       d.Name,
		Count:      int64(d.Nodes()),
		Features:   columns,
		Classes:    d.Classes,
		BagOfWords: d.BagOfWords,
		Nodes:      stage.Source{Identity: "nodes of " + identity, Rows: nodeRows(d, roles)},
		Edges:      stage.Source{Identity: "edges of " + identity, Rows: edgeRows(d, roles)},
	}
}

func nodeRows(d *dataset.Dataset, roles []partition.Role) iter.Seq2[[]byte, error] {
	return payloads(func(add func(row func(dst []byte) []byte) error) error {
		for i, id := range d.IDs {
			n := partition.Node{Row: int64(i + 1), ID: id, Role: roles[i], Width: d.X.Cols()}
			if y := d.Labels[i]; y >= 0 {
				n.Label = d.Classes[y]
			}
			if d.X.Sparse == nil {
				n.Dense = d.X.Dense.Row(i)
			} else {
				d.X.Each(i, func(c int, v float32) { n.Cols, n.Vals = append(n.Cols, int32(c)), append(n.Vals, v) })
			}
			if err := add(func(dst []byte) []byte { return partition.AppendNode(dst, n) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// edgeRows gives each edge once, and none of a node that is in no role.
func edgeRows(d *dataset.Dataset, roles []partition.Role) iter.Seq2[[]byte, error] {
	return payloads(func(add func(row func(dst []byte) []byte) error) error {
		if d.Adj.Val != nil {
			return errors.New("edges have weights, which only a run that holds the graph in memory (--engine memory) reads; " +
				"--drop-weights reads each as 1")
		}
		const what = "a run by rows of tables (only --engine memory has the graph in memory)"
		if err := cmp.Or(d.RequireNoRelations(what), d.RequireOneType(what)); err != nil {
			return err
		}
		e := partition.Edge{}
		for i := range d.Adj.Rows {
			cols, _ := d.Adj.Row(i)
			for _, j := range cols {
				if int(j) < i || roles[i] == partition.NoRole || roles[j] == partition.NoRole {
					continue
				}
				e = partition.Edge{Row: e.Row + 1, Source: d.IDs[i], Target: d.IDs[j]}
				if err := add(func(dst []byte) []byte { return partition.AppendEdge(dst, e) }); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// OfStream gives the rows of a data set of tables, which is never in memory as a whole.
func OfStream(d *table.Stream) RowData {
	nodes := payloads(func(add func(row func(dst []byte) []byte) error) error {
		return d.EachNode(func(n table.Node) error {
			return add(func(dst []byte) []byte {
				return partition.AppendNode(dst, partition.Node{Row: n.Row, ID: n.ID, Label: n.Label,
					Role:  partition.RoleOf(n.Split),
					Dense: n.Features})
			})
		})
	})
	edges := payloads(func(add func(row func(dst []byte) []byte) error) error {
		return d.EachEdge(func(e table.Edge) error {
			return add(func(dst []byte) []byte {
				return partition.AppendEdge(dst, partition.Edge{Row: e.Row, Source: e.Source, Target: e.Target})
			})
		})
	})
	return RowData{Name: d.Name, Count: d.Rows, Features: d.Features, dropUnknown: d.DropsUnknown(),
		Nodes: stage.Source{Identity: "nodes\n" + d.Identity, Rows: nodes},
		Edges: stage.Source{Identity: "edges\n" + d.Identity, Rows: edges}}
}

// errEnough ends a reading whose rows nobody wants any more.
var errEnough = errors.New("enough rows")

// payloads gives rows in payloads of about [payloadBytes]. each calls add for every row, which row appends to a
// payload.
func payloads(each func(add func(row func(dst []byte) []byte) error) error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var payload []byte
		err := each(func(row func(dst []byte) []byte) error {
			if payload = row(payload); len(payload) < payloadBytes {
				return nil
			}
			if !yield(payload, nil) {
				return errEnough
			}
			payload = payload[:0]
			return nil
		})
		switch {
		case err == nil && len(payload) > 0:
			yield(payload, nil)
		case err != nil && !errors.Is(err, errEnough):
			yield(nil, err)
		}
	}
}
