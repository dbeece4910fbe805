package lake

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
)

// Parts are the tables of a model, of some nodes: its u_0, u_1, … with the columns of c that come with each.
type Parts struct {
	hops   *infer.Recurrence
	tables []*graph.Dense
	names  []string // of their columns
}

// NewParts returns tables without rows. A column of them is called after the model and the number of its layer.
func NewParts(name string, r *infer.Recurrence) *Parts {
	p := &Parts{hops: r}
	for k := range r.Len() {
		u, c := r.Part(k)
		p.tables = append(p.tables, &graph.Dense{Cols: u + c})
		p.names = append(p.names, fmt.Sprintf("%s_%d", name, k))
	}
	return p
}

// fields are the columns of the tables.
func (p *Parts) fields() (out []field) {
	for k, t := range p.tables {
		out = append(out, field{p.names[k], false, block(func() []float32 { return grow(t) })})
	}
	return out
}

// Take returns the tables of rows.
func (p *Parts) Take(rows []int32) *infer.Tables {
	taken := make([]*graph.Dense, len(p.tables))
	for k, t := range p.tables {
		taken[k] = t.Take(rows)
	}
	return p.of(taken)
}

// of makes the tables of their parts.
func (p *Parts) of(parts []*graph.Dense) *infer.Tables {
	t, ways := &infer.Tables{}, []*graph.Dense(nil)
	for k, part := range parts {
		u, _ := p.hops.Part(k)
		t.U, ways = append(t.U, part.Columns(0, u)), append(ways, part.Columns(u, part.Cols))
	}
	if t.C = graph.Beside(ways...); t.C.Cols == 0 {
		t.C = nil
	}
	return t
}

// clear takes all rows away.
func (p *Parts) clear() {
	for _, t := range p.tables {
		t.Rows, t.Data = 0, t.Data[:0]
	}
}

// ReadParts reads one row of tables for each of some nodes, from files which together have them all, and perhaps more.
// It returns the place of each node's row. points, if it is not nil, are the rows of column points.
func ReadParts(files []string, keys []int64, all []*Parts, points *graph.Dense) ([]int32, error) {
	var more []field
	if points != nil {
		more = []field{{Points, false, block(func() []float32 { return grow(points) })}}
	}
	return readParts(files, keys, all, more, func() error { return nil })
}

// readParts is [ReadParts] with more columns, and a function that is called behind each row.
func readParts(files []string, keys []int64, all []*Parts, more []field, each func() error) ([]int32, error) {
	places := make(map[int64]int32, len(keys))
	for _, key := range keys {
		places[key] = -1
	}
	var key int64
	rows := int32(0)
	fields := append([]field{{"node", false, integer(&key)}}, more...)
	for _, p := range all {
		fields = append(fields, p.fields()...)
	}
	for _, file := range files {
		if err := eachRow(file, fields, func() error {
			if at, wanted := places[key]; wanted && at >= 0 {
				return fmt.Errorf("node %d is there twice", key)
			} else if wanted {
				places[key] = rows
			}
			rows++
			return each()
		}); err != nil {
			return nil, err
		}
	}
	out := make([]int32, len(keys))
	for k, key := range keys {
		if out[k] = places[key]; out[k] < 0 {
			return nil, fmt.Errorf("the tables have no row of node %d", key)
		}
	}
	return out, nil
}
