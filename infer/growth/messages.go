package growth

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
)

// Messages turn rows of a model's tables into the targets for which rows of M are solved (docs/algorithm.md, section 5,
// step 3). The squared distance of two messages is that between the arrivals' results from them. The parts stand side
// by side, from the last table to the first and then c:
//
//	hops      [u_{K−1}·scale, …, u_0·scale, c·scale]; of SGC with K = 2 [u1 W̄, s0·u0 W̄, cs·c]
//	layers    [u_{L−1} less its class mean, …, u_0·P0, c·Pc]
//
// The messages of all slots stand side by side, each times the root of the share that the slot has in an error on the
// support edges ([graph.Slots.Shares]), so that squared distances are weighted as edges are.
type Messages struct {
	U     []Part // per table
	C     Part
	Slots []float32 // roots of shares
}

// Part describes how a table becomes a part of the messages: by a factor, or by a scale if there is none. With a
// scale, a row of a U table is taken less its mean, as softmax ignores a constant in the logits; a row of c is taken
// as it is.
type Part struct {
	Scale  float32
	Factor *graph.Dense // width of the table × columns
}

// Of are the messages of the nodes of tables, n×p. A row depends on its own row of the tables alone, bit for bit.
// Parts that do not fit the tables are a programming error and panic.
func (m *Messages) Of(t *infer.Tables) *graph.Dense {
	if len(m.U) != len(t.U) {
		panic(fmt.Sprintf("infer: messages of %d tables for %s", len(m.U), t.Shapes()))
	}
	nodes, blocks := t.Nodes()/len(m.Slots), make([]*graph.Dense, len(m.Slots))
	for k, root := range m.Slots {
		blocks[k] = m.one(t.Rows(k*nodes, (k+1)*nodes))
		graph.Scale(blocks[k].Data, root)
	}
	return graph.Beside(blocks...)
}

// one are the messages by the tables of one slot.
func (m *Messages) one(t *infer.Tables) *graph.Dense {
	out := graph.NewDense(t.Nodes(), m.width(t))
	at := 0
	for k := len(t.U) - 1; k >= 0; k-- {
		at += m.U[k].write(out, at, t.U[k], true)
	}
	if t.C != nil { // models that read relations have no way back
		m.C.write(out, at, t.C, false)
	}
	return out
}

// Width is p, the number of columns that the parts make of tables of these widths.
func (m *Messages) Width(t *infer.Tables) int { return len(m.Slots) * m.width(t) }

func (m *Messages) width(t *infer.Tables) int {
	width := 0
	if t.C != nil {
		width = m.C.width(t.C)
	}
	for k := range m.U {
		width += m.U[k].width(t.U[k])
	}
	return width
}

// Times multiplies all messages by a factor.
func (m *Messages) Times(factor float32) {
	for k := range m.U {
		m.U[k].times(factor)
	}
	m.C.times(factor)
}

func (p *Part) times(factor float32) {
	p.Scale *= factor
	if p.Factor != nil {
		p.Factor = p.Factor.Clone()
		for k := range p.Factor.Data {
			p.Factor.Data[k] *= factor
		}
	}
}

func (p *Part) width(table *graph.Dense) int {
	if p.Factor != nil {
		return p.Factor.Cols
	}
	return table.Cols
}

// write sets the columns of out from column at on and returns their number.
func (p *Part) write(out *graph.Dense, at int, table *graph.Dense, centre bool) int {
	width := p.width(table)
	if p.Factor != nil {
		product := graph.MulDense(table, p.Factor)
		for i := range out.Rows {
			copy(out.Row(i)[at:], product.Row(i))
		}
		return width
	}
	for i := range out.Rows {
		to, from := out.Row(i)[at:at+width], table.Row(i)
		mean := float32(0)
		if centre {
			for _, v := range from {
				mean += v / float32(width)
			}
		}
		for k, v := range from {
			to[k] = p.Scale * (v - mean)
		}
	}
	return width
}
