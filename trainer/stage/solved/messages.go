package solved

import (
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/growth"
	"rivulet/trainer/stage/wire"
)

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
