package solved

import (
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// MessageOptions define the messages of models, from their tables of T (docs/algorithm.md, section 5, step 3).
type MessageOptions struct {
	Models []TableOptions `json:"models"`
	// Entries is k, the most entries of a row of M; of stage solve.
	Entries int `json:"entries,omitzero"`
	// Clusters is N'.
	Clusters int `json:"clusters"`
	// Degree is the highest of a node, and Entry the largest number in M; they bound the sums.
	Degree int64   `json:"degree"`
	Entry  float32 `json:"entry,omitzero"`
}

// TableOptions are the widths of the tables of a model on T: of u_0, u_1, …, and of c. The tables are the output
// OutPart of stages enter and take, one for each u.
type TableOptions struct {
	U []int `json:"u"`
	C int   `json:"c"`
}

// width is the number of columns of all tables.
func (o *TableOptions) width() int {
	width := o.C
	for _, u := range o.U {
		width += u
	}
	return width
}

// tables makes the model's tables from their parts; each part is a u with some columns of c behind it.
func (o *TableOptions) tables(parts []*graph.Dense) (*infer.Tables, error) {
	t := &infer.Tables{}
	var ways []*graph.Dense
	for k, p := range parts {
		if p.Rows != parts[0].Rows || p.Cols < o.U[k] {
			return nil, fmt.Errorf("part %d of the tables is %d×%d, want %d rows and %d columns or more", k, p.Rows,
				p.Cols, parts[0].Rows, o.U[k])
		}
		t.U = append(t.U, p.Columns(0, o.U[k]))
		ways = append(ways, p.Columns(o.U[k], p.Cols))
	}
	if t.C = graph.Beside(ways...); t.C.Cols != o.C {
		return nil, fmt.Errorf("the tables have %d columns of c, want %d", t.C.Cols, o.C)
	}
	return t, nil
}

// TablesOf divides rows of the parts of a model's tables, as stage pick gives them side by side.
func TablesOf(m infer.Model, rows *graph.Dense) (*infer.Tables, error) {
	hops := m.Recurrence()
	o := TableOptions{}
	o.U, o.C = m.TableWidths()
	if rows.Cols != o.width() {
		return nil, fmt.Errorf("tables of %d columns, %s has %d", rows.Cols, m.Name(), o.width())
	}
	var parts []*graph.Dense
	at := 0
	for k := range o.U {
		u, c := hops.Part(k)
		parts = append(parts, rows.Columns(at, at+u+c))
		at += u + c
	}
	return o.tables(parts)
}

// SideMessages returns the name of the side that has the messages of a model.
func SideMessages(model int) string { return fmt.Sprint("messages", model) }

// SideBounds returns the name of the side that has the largest number in each column of a model's tables, u_0, u_1, …,
// c.
func SideBounds(model int) string { return fmt.Sprint("bounds", model) }

// AppendMessages is the form of messages as a side.
func AppendMessages(m growth.Messages) []byte {
	dst := wire.AppendNumber(nil, len(m.U))
	for _, p := range append(slices.Clone(m.U), m.C) {
		dst = wire.AppendU32(dst, math.Float32bits(p.Scale))
		if p.Factor == nil {
			dst = append(dst, 0)
			continue
		}
		dst = wire.AppendDense(append(dst, 1), p.Factor)
	}
	return dst
}

func readMessages(b []byte) (growth.Messages, error) {
	w := wire.NewReader(b)
	parts := make([]growth.Part, w.Count(5)+1)
	for k := range parts {
		parts[k].Scale = math.Float32frombits(w.U32())
		if w.Byte() != 0 {
			parts[k].Factor = w.Dense()
		}
	}
	last := len(parts) - 1
	return growth.Messages{U: parts[:last], C: parts[last]}, w.End()
}

// messageStage makes tables and messages of blocks. The first inputs of its stages are 0 degrees, and from 1 on the
// parts of the tables of one model after the other.
type messageStage struct {
	MessageOptions
	of     []growth.Messages // per model
	bounds [][]float64       // of each model's tables, by column
}

// firstPart is the first input that is a part of tables.
const firstPart = 1

func newMessaging(o MessageOptions, sides stage.Sides) (messageStage, error) {
	m := messageStage{MessageOptions: o}
	if len(o.Models) == 0 {
		return m, fmt.Errorf("no model has messages")
	}
	for k, t := range o.Models {
		of, err := readMessages(sides[SideMessages(k)])
		if err != nil {
			return m, fmt.Errorf("side %s: %w", SideMessages(k), err)
		}
		bounds := wire.ReadDoubles(sides[SideBounds(k)])
		if len(bounds) != t.width() || len(of.U) != len(t.U) {
			return m, fmt.Errorf("model %d has %d columns of tables, %d bounds of them, %d tables and messages of %d", k,
				t.width(), len(bounds), len(t.U), len(of.U))
		}
		m.of, m.bounds = append(m.of, of), append(m.bounds, bounds)
	}
	return m, nil
}

// read reads the degrees of a block and the tables of each model. Behind messageStage's inputs there may be more: it
// returns their payloads. The degrees are nil if the key has no nodes.
func (m *messageStage) read(in stage.Records, more int) (d *degrees, of []*infer.Tables, rest [][]byte, err error) {
	inputs := firstPart
	for k := range m.Models {
		inputs += len(m.Models[k].U)
	}
	p, err := stage.Payloads(in, inputs+more)
	if err != nil || p[0] == nil {
		return nil, nil, nil, err
	}
	if d, err = newDegrees(p[0]); err != nil {
		return nil, nil, nil, err
	}
	of, err = m.tables(len(d.of), p[firstPart:inputs])
	return d, of, p[inputs:], err
}

// tables reads the tables on T of a block's nodes, for each model.
func (m *messageStage) tables(nodes int, stored [][]byte) ([]*infer.Tables, error) {
	var out []*infer.Tables
	for k := range m.Models {
		o := &m.Models[k]
		parts := make([]*graph.Dense, len(o.U))
		for i := range parts {
			part, err := wire.ReadDense(stored[i])
			if err != nil {
				return nil, err
			}
			if part.Rows != nodes {
				return nil, fmt.Errorf("%d rows of tables for %d nodes", part.Rows, nodes)
			}
			parts[i] = part
		}
		stored = stored[len(parts):]
		t, err := o.tables(parts)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// messages returns the messages of nodes with these tables, the models side by side.
func (m *messageStage) messages(of []*infer.Tables) *graph.Dense {
	all := make([]*graph.Dense, len(of))
	for k := range of {
		all[k] = m.of[k].Of(of[k])
	}
	return graph.Beside(all...)
}

// sideBySide returns the tables of all models as one matrix: u_0, u_1, …, c of the first model, then of the next.
func sideBySide(of []*infer.Tables) *graph.Dense {
	var all []*graph.Dense
	for _, t := range of {
		all = append(append(all, t.U...), t.C)
	}
	return graph.Beside(all...)
}

// tableBounds returns a bound for each column of [sideBySide].
func (m *messageStage) tableBounds() []float64 { return slices.Concat(m.bounds...) }

// messageBounds returns a bound for each column of the messages of all models.
func (m *messageStage) messageBounds() []float64 {
	var out []float64
	for k := range m.Models {
		out = append(out, boundsOf(&m.of[k], &m.Models[k], m.bounds[k])...)
	}
	return out
}

// boundsOf returns a bound for each column of one model's messages, given the bounds of the columns of its tables.
func boundsOf(of *growth.Messages, o *TableOptions, bounds []float64) []float64 {
	var tables [][]float64
	at := 0
	for _, width := range append(slices.Clone(o.U), o.C) {
		tables = append(tables, bounds[at:at+width])
		at += width
	}
	var out []float64
	for u := len(o.U) - 1; u >= 0; u-- {
		out = append(out, partBounds(of.U[u], tables[u], true)...)
	}
	return append(out, partBounds(of.C, tables[len(o.U)], false)...)
}

// partBounds returns a bound for each column of a part of the messages. A number less the mean of its row is at most
// twice the largest number of the row.
func partBounds(p growth.Part, bounds []float64, centred bool) []float64 {
	if p.Factor != nil {
		out := make([]float64, p.Factor.Cols)
		for i, b := range bounds {
			for c, v := range p.Factor.Row(i) {
				out[c] += float64(b * math.Abs(float64(v)))
			}
		}
		return out
	}
	out := slices.Clone(bounds)
	highest := slices.Max(append(out, 0))
	for k, b := range out {
		if centred {
			b = 2 * highest
		}
		out[k] = b * math.Abs(float64(p.Scale))
	}
	return out
}

// scalesOf returns the scales of columns whose numbers are at most these bounds times a factor. It adds a little for
// rounding.
func scalesOf(bounds []float64, factor float64) ([]stage.Scale, error) {
	out := make([]stage.Scale, 0, len(bounds)+1)
	for k, b := range bounds {
		s, err := stage.NewScale(b * factor * (1 + 1e-3))
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", k, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// StageNorms is the name of the stage that measures the messages of several models.
const StageNorms = "norms"

// norms adds up the weights w of the nodes and, for each model, w times the squared norm of the messages: a record a
// block at key 0. Its inputs are messageStage's.
type norms struct {
	messageStage
	scale []stage.Scale
}

func newNorms(o MessageOptions, sides stage.Sides) (stage.Function, error) {
	m, err := newMessaging(o, sides)
	if err != nil {
		return nil, err
	}
	f := &norms{messageStage: m}
	f.scale, err = m.normScales()
	return f, err
}

// normScales returns the scales of the sums of stage norms: of w, and of each model's squared norms.
func (m *messageStage) normScales() ([]stage.Scale, error) {
	bounds := []float64{1}
	for k := range m.Models {
		sum := 0.0
		for _, b := range boundsOf(&m.of[k], &m.Models[k], m.bounds[k]) {
			sum += float64(b * b)
		}
		bounds = append(bounds, sum*(1+1e-2))
	}
	return scalesOf(bounds, float64(m.Degree+1))
}

// Reduce implements [stage.Function].
func (f *norms) Reduce(key int64, in stage.Records, out stage.Output) error {
	d, of, _, err := f.read(in, 0)
	if err != nil || d == nil {
		return err
	}
	sums := newGroups(f.scale)
	row := sums.row(0)
	for k := range of {
		messages := f.of[k].Of(of[k])
		for j := range messages.Rows {
			squares := 0.0
			for _, v := range messages.Row(j) {
				squares += float64(float64(v) * float64(v))
			}
			row.add(1+k, float64(d.weight(j)*squares))
			if k == 0 {
				row.add(0, d.weight(j))
			}
		}
	}
	return sums.emit(0, key, out)
}

// Norms returns, from the output of stage norms, the weighted root mean square of the norms of each model's messages.
func Norms(o MessageOptions, sides stage.Sides, records []stage.Record) ([]float64, error) {
	m, err := newMessaging(o, sides)
	if err != nil {
		return nil, err
	}
	scale, err := m.normScales()
	if err != nil {
		return nil, err
	}
	sums, err := sumGroups(records, 1, scale)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(m.Models))
	if sums[0] == nil {
		return out, nil
	}
	for k := range out {
		out[k] = math.Sqrt(sums[0][1+k] / sums[0][0])
	}
	return out, nil
}
