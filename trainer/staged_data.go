package trainer

import (
	"iter"

	"rivulet/dataset"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/solved"
)

// payloadBytes is about the size of a payload of rows.
const payloadBytes = 1 << 16

// StagedOf gives a data set in memory to [TrainStaged], as the rows of two tables.
func StagedOf(d *dataset.Dataset, o Options) (Staged, error) {
	identity := d.Fingerprint()
	d, s, err := Encode(d, o)
	if err != nil {
		return Staged{}, err
	}
	roles := make([]solved.Role, d.Nodes())
	for role, nodes := range map[solved.Role][]int32{solved.Train: d.Train, solved.Unlabelled: d.Unlabelled,
		solved.Validation: d.Validation, solved.Test: d.Test} {
		for _, i := range nodes {
			roles[i] = role
		}
	}
	if s != nil {
		identity += s.Hash()
	}
	return Staged{Name: d.Name, Count: int64(d.Nodes()), Features: d.X.Cols(), Classes: d.Classes, BagOfWords: d.BagOfWords, Schema: s,
		Nodes: stage.Source{Identity: "nodes of " + identity, Rows: nodeRows(d, roles)},
		Edges: stage.Source{Identity: "edges of " + identity, Rows: edgeRows(d, roles)}}, nil
}

func nodeRows(d *dataset.Dataset, roles []solved.Role) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var payload []byte
		for i, id := range d.IDs {
			n := solved.Node{Row: int64(i + 1), ID: id, Role: roles[i], Width: d.X.Cols()}
			if y := d.Labels[i]; y >= 0 {
				n.Label = d.Classes[y]
			}
			if d.X.Sparse == nil {
				n.Dense = d.X.Dense.Row(i)
			} else {
				d.X.Each(i, func(c int, v float32) { n.Cols, n.Vals = append(n.Cols, int32(c)), append(n.Vals, v) })
			}
			if payload = solved.AppendNode(payload, n); len(payload) < payloadBytes && i+1 < len(d.IDs) {
				continue
			}
			if !yield(payload, nil) {
				return
			}
			payload = payload[:0]
		}
	}
}

// edgeRows gives each edge once, and none of a node that is in no role.
func edgeRows(d *dataset.Dataset, roles []solved.Role) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var payload []byte
		row := int64(0)
		for i := range d.Adj.Rows {
			cols, _ := d.Adj.Row(i)
			for _, j := range cols {
				if int(j) < i || roles[i] == solved.NoRole || roles[j] == solved.NoRole {
					continue
				}
				row++
				payload = solved.AppendEdge(payload, solved.Edge{Row: row, Source: d.IDs[i], Target: d.IDs[j]})
				if len(payload) < payloadBytes {
					continue
				}
				if !yield(payload, nil) {
					return
				}
				payload = payload[:0]
			}
		}
		if len(payload) > 0 {
			yield(payload, nil)
		}
	}
}
