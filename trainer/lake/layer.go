package lake

import (
	"fmt"
	"slices"

	"rivulet/dataset/columnar"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
)

// Layer takes nodes through one layer of a recurrence, any nodes at a time: see [infer.Recurrence]. It has no state, so
// that any number of programs may do it for parts of the nodes.
//
//	layer 0        features (or seeds), degree   -> state, messages, part 0 of the tables
//	layer k < Len  state, summed messages        -> state, messages, part k
//	layer Len      state, summed messages        -> logits
type Layer struct {
	hops *infer.Recurrence
	at   int
	name string

	pre      *preprocess.Parameters
	features int
	classes  []string // of propagation
	models   []string
}

// NewLayer returns a layer of points, of propagation or of a model.
func NewLayer(d Draft, name string, at int) (*Layer, error) {
	p, err := d.Prepared()
	if err != nil {
		return nil, err
	}
	w := &Weights{}
	if name != Points {
		if w, err = d.Weights(); err != nil {
			return nil, err
		}
	}
	l := &Layer{at: at, name: name, pre: &p.Preprocess, features: p.Facts.Features}
	if l.hops, err = p.Recurrence(name, w); err != nil {
		return nil, err
	}
	last := l.hops.Len()
	if name == Propagation {
		last-- // nobody reads what follows the last table
		l.classes = p.Facts.Names()
		for _, m := range w.Models {
			l.models = append(l.models, m.Name)
		}
	}
	if at < 0 || at > last {
		return nil, fmt.Errorf("layer is %d, %s has 0 to %d", at, name, last)
	}
	return l, nil
}

// batchNumbers is about how many numbers are read before they are computed.
const batchNumbers = 1 << 21

// nodes are rows while they are read.
type nodes struct {
	*Layer
	keys    []int64
	degrees []float32

	x      features
	labels []int32
	logits []*graph.Dense // of propagation, by model

	state, sums *graph.Dense

	key       int64
	degree    float32
	id, label string
	row       []float32 // of sums
}

// Run reads a table of nodes and writes the table behind the layer.
func (l *Layer) Run(from, to string) error {
	n := &nodes{Layer: l}
	var fields []field
	if l.at == 0 {
		fields = n.begin()
	} else {
		fields = n.resume()
	}
	fields = append(fields, field{"node", false, integer(&n.key)}, field{"degree", false, number(&n.degree)})
	return write(to, l.columns(), func(add func([]table.Cell) error) error {
		size := max(1, batchNumbers/max(1, n.width()))
		if err := eachRow(from, fields, func() error {
			if !(n.degree >= 0) {
				return fmt.Errorf("column degree: it is %v, want 0 or more", n.degree)
			}
			n.keys, n.degrees = append(n.keys, n.key), append(n.degrees, n.degree)
			if err := n.end(); err != nil {
				return err
			}
			if len(n.keys) < size {
				return nil
			}
			return n.flush(add)
		}); err != nil {
			return err
		}
		return n.flush(add)
	})
}

// width is about how many numbers a row has while it is computed.
func (n *nodes) width() int {
	if n.at == 0 && n.name != Propagation {
		return n.features + n.hops.Columns(0)
	}
	return 2 * n.hops.Columns(min(n.at, n.hops.Len()-1))
}

// begin are the fields of layer 0.
func (n *nodes) begin() []field {
	if n.name != Propagation {
		n.x.width = n.features
		return append(n.x.fields(), field{"id", true, text(&n.id)})
	}
	fields := []field{{"label", false, text(&n.label)}}
	for k, name := range n.models {
		n.logits = append(n.logits, &graph.Dense{Cols: len(n.classes)})
		fields = append(fields, field{name + "_logits", false, block(func() []float32 { return grow(n.logits[k]) })})
	}
	return fields
}

// resume are the fields of a later layer.
func (n *nodes) resume() []field {
	n.state = &graph.Dense{Cols: n.hops.Columns(n.at - 1)}
	n.row = make([]float32, n.hops.Sent(n.at-1))
	n.sums = &graph.Dense{Cols: len(n.row)}
	fields := []field{{"state", false, block(func() []float32 { return grow(n.state) })}}
	for k := range n.row {
		fields = append(fields, field{message(k), false, number(&n.row[k])})
	}
	return fields
}

// message is the name of a column of messages.
func message(k int) string { return fmt.Sprintf("m%d", k) }

// grow adds a row to a matrix, and returns it.
func grow(m *graph.Dense) []float32 {
	m.Rows++
	m.Data = append(m.Data, make([]float32, m.Cols)...)
	return m.Row(m.Rows - 1)
}

// end takes the row that was read.
func (n *nodes) end() error {
	switch {
	case n.at > 0:
		copy(grow(n.sums), n.row)
	case n.name == Propagation:
		y := int32(slices.Index(n.classes, n.label))
		if n.label != "" && y < 0 {
			return fmt.Errorf("node %d has class %.100q, which is not in the facts", n.key, n.label)
		}
		n.labels = append(n.labels, y)
	default:
		return n.x.add(func() string {
			if n.id == "" {
				return fmt.Sprintf("node %d", n.key)
			}
			return fmt.Sprintf("node %.100q", n.id)
		})
	}
	return nil
}

// flush takes the rows that were read through the layer, and writes them.
func (n *nodes) flush(add func([]table.Cell) error) error {
	if len(n.keys) == 0 {
		return nil
	}
	state, part, logits := n.through()
	if logits != nil {
		for k, key := range n.keys {
			if err := n.finite(k, logits.Row(k)); err != nil {
				return err
			}
			if err := add([]table.Cell{{Kind: table.Int, Int: key}, blockCell(logits.Row(k))}); err != nil {
				return err
			}
		}
		n.clear()
		return nil
	}
	sent, all := n.hops.Send(n.at, state, n.degrees), state.Beside()
	cells := make([]table.Cell, 4+sent.Cols)
	for k, key := range n.keys {
		cells[0] = table.Cell{Kind: table.Int, Int: key}
		cells[1] = table.Cell{Kind: table.Float, Float: float64(n.degrees[k])}
		cells[2], cells[3] = blockCell(all.Row(k)), blockCell(part.Row(k))
		for c, v := range sent.Row(k) {
			cells[4+c] = table.Cell{Kind: table.Float, Float: float64(v)}
		}
		if err := n.finite(k, sent.Row(k)); err != nil {
			return err
		}
		if err := add(cells); err != nil {
			return err
		}
	}
	n.clear()
	return nil
}

// columns are those of the table behind the layer.
func (l *Layer) columns() []columnar.Column {
	if l.at == l.hops.Len() {
		return []columnar.Column{{Name: "node", Type: columnar.Integer}, {Name: "logits", Type: columnar.Bytes}}
	}
	out := []columnar.Column{{Name: "node", Type: columnar.Integer}, {Name: "degree", Type: columnar.Number},
		{Name: "state", Type: columnar.Bytes}, {Name: "part", Type: columnar.Bytes}}
	for k := range l.hops.Sent(l.at) {
		out = append(out, columnar.Column{Name: message(k), Type: columnar.Number})
	}
	return out
}

// through takes the nodes through the layer: to their next state and a part of their tables, or to their logits.
func (n *nodes) through() (state *infer.State, part, logits *graph.Dense) {
	switch {
	case n.at == 0 && n.name == Propagation:
		seeds := []*graph.Dense{infer.LabelSeeds(n.labels, len(n.classes))}
		for _, of := range n.logits {
			seeds = append(seeds, infer.ErrorSeeds(n.labels, of))
		}
		state, part = n.hops.EnterSeeds(graph.Beside(seeds...), n.degrees)
	case n.at == 0:
		state, part = n.hops.Enter(n.pre.Raw(n.x.take()), n.degrees)
	case n.at < n.hops.Len():
		state, part = n.hops.Step(n.at-1, n.hops.Split(n.at-1, n.state), n.sums, n.degrees)
	default:
		logits = n.hops.Close(n.hops.Split(n.at-1, n.state), n.sums, n.degrees)
	}
	return state, part, logits
}

// finite returns an error for a row with a number that is none.
func (n *nodes) finite(k int, row []float32) error {
	for _, v := range row {
		if v-v != 0 {
			return fmt.Errorf("an answer of node %d in layer %d of %s is %v: its weights are too large", n.keys[k], n.at,
				n.name, v)
		}
	}
	return nil
}

// clear makes room for the next rows.
func (n *nodes) clear() {
	n.keys, n.degrees, n.labels = n.keys[:0], n.degrees[:0], n.labels[:0]
	for _, m := range append(slices.Clone(n.logits), n.state, n.sums) {
		if m != nil {
			m.Rows, m.Data = 0, m.Data[:0]
		}
	}
}
