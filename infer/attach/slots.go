package attach

import (
	"math/bits"
	"slices"
	"unsafe"

	"rivulet/graph"
)

// Edge is an edge to a neighbour, as a record has it.
type Edge struct {
	// Relations are the slots of the edge's types and directions, as bits ([graph.Slots.Relations]); 0: it has none that
	// is read, and the neighbour is unknown. Where slots are of no types and directions it is not looked at.
	Relations uint32
	// Weights has a weight for each of Relations, ascending; where slots are of weights the largest counts. nil: the edge
	// weighs 1.
	Weights []float32
}

// weight is the weight in the k-th of the edge's slots.
func (e *Edge) weight(k int) float32 {
	if e.Weights == nil {
		return 1
	}
	return e.Weights[k]
}

// heaviest is the weight where slots are of weights.
func (e *Edge) heaviest() float32 {
	switch len(e.Weights) {
	case 0:
		return 1
	case 1:
		return e.Weights[0]
	}
	return slices.Max(e.Weights)
}

// Usual returns an edge of a usual weight that leads from an arrival, of all types.
func Usual(s *graph.Slots) *Edge {
	made, leading := s.Made(), s.Leading()
	return &Edge{leading, slices.Repeat(made[len(made)/2:len(made)/2+1], bits.OnesCount32(leading))}
}

// slottedRows are rows of M as tables of slots are read, in memory that is used again.
type slottedRows struct {
	lists [][]Row
	rows  []Row
	cols  []int32
	vals  []float32
}

// Read returns the rows of neighbours as tables of slots are read (docs/algorithm.md, section 2): an edge in slot k
// fills the columns from k·synthetic on, with the row's entries times the share of the edge. A neighbour by an edge of
// no type or direction that is read becomes unknown. An edge of which nothing is said (Row.Edge is nil) leads from the
// arrival, of all types, and weighs 1. The rows are valid until the next call.
func (a *Attacher) Read(neighbours [][]Row, slots *graph.Slots, synthetic int) [][]Row {
	if slots.Plain() {
		return neighbours
	}
	s := &a.slotted
	s.begin(neighbours)
	relational, said := slots.Relational(), Edge{Relations: slots.Leading()}
	for _, rows := range neighbours {
		first := len(s.rows)
		for _, row := range rows {
			if row.Edge == nil {
				row.Edge = &said
			}
			s.rows = append(s.rows, row)
		}
		if relational {
			s.shares(s.rows[first:], slots, synthetic)
		} else {
			s.sums(s.rows[first:], slots, synthetic)
		}
		s.lists = append(s.lists, s.rows[first:])
	}
	return s.lists
}

// sums has each edge of an arrival read the slot of its weight, by which it counts.
func (s *slottedRows) sums(rows []Row, slots *graph.Slots, synthetic int) {
	for k := range rows {
		row, from := &rows[k], len(s.cols)
		w := slots.Counted(row.Edge.heaviest())
		s.add(row, slots.Of(w)*synthetic, w)
		row.Cols, row.Vals = s.cols[from:], s.vals[from:]
	}
}

// shares has each edge of an arrival read the slots of its types and directions, by its share of their weights.
func (s *slottedRows) shares(rows []Row, slots *graph.Slots, synthetic int) {
	var totals [graph.MaxSlots]float64 // of the weights of each slot's edges to known neighbours
	for k := range rows {
		row := &rows[k]
		if row.Known = row.Known && row.Edge.Relations != 0; !row.Known {
			continue
		}
		for of, at := row.Edge.Relations, 0; of != 0; of, at = of&(of-1), at+1 {
			totals[bits.TrailingZeros32(of)] += float64(slots.Counted(row.Edge.weight(at)))
		}
	}
	for k := range rows {
		row, from := &rows[k], len(s.cols)
		if row.Known {
			for of, at := row.Edge.Relations, 0; of != 0; of, at = of&(of-1), at+1 {
				slot := bits.TrailingZeros32(of)
				s.add(row, slot*synthetic, float32(float64(slots.Counted(row.Edge.weight(at)))/totals[slot]))
			}
		}
		row.Cols, row.Vals = s.cols[from:], s.vals[from:]
	}
}

// add adds the entries of a row times a share, in the columns of a slot.
func (s *slottedRows) add(row *Row, shift int, share float32) {
	cols, vals, by := s.cols, s.vals, int32(shift)
	for p, c := range row.Cols {
		cols, vals = append(cols, c+by), append(vals, share*row.Vals[p])
	}
	s.cols, s.vals = cols, vals
}

// begin makes room for rows and about as many entries as they have.
func (s *slottedRows) begin(neighbours [][]Row) {
	edges, entries := 0, 0
	for _, rows := range neighbours {
		edges += len(rows)
		for k := range rows {
			entries += len(rows[k].Cols)
		}
	}
	s.lists, s.rows = s.lists[:0], slices.Grow(s.rows[:0], edges)
	s.cols, s.vals = slices.Grow(s.cols[:0], entries), slices.Grow(s.vals[:0], entries)
}

// bytes returns how much memory is kept.
func (s *slottedRows) bytes() int {
	return int(unsafe.Sizeof(Row{}))*cap(s.rows) + 4*(cap(s.cols)+cap(s.vals))
}

// sumWeights returns the sums of the weights of the edges to known neighbours; nil where an edge counts 1, or by its
// share of a slot.
func sumWeights(neighbours [][]Row, slots *graph.Slots) []float32 {
	if !slots.Weighted || slots.Relational() {
		return nil
	}
	sums := make([]float32, len(neighbours))
	for i, rows := range neighbours {
		sum := 0.0
		for k := range rows {
			if rows[k].Known {
				sum += float64(slots.Counted(rows[k].Edge.heaviest()))
			}
		}
		sums[i] = float32(sum)
	}
	return sums
}

// through returns the rows of M, by which arrivals on T are attached: edges are in the columns of their types and
// directions.
func through(edges, m *graph.CSR) [][]Row {
	rows := make([][]Row, edges.Rows)
	for i := range rows {
		place := map[int32]int{}
		for b := range edges.Blocks(i, m.Rows) {
			for k := b.Lo; k < b.Hi; k++ {
				j := edges.ColIdx[k] - int32(b.Slot*m.Rows)
				at, there := place[j]
				if !there {
					cols, vals := m.Row(int(j))
					at, place[j] = len(rows[i]), len(rows[i])
					rows[i] = append(rows[i], Row{Known: true, Cols: cols, Vals: vals, Edge: new(Edge)})
				}
				e := rows[i][at].Edge
				e.Relations, e.Weights = e.Relations|1<<b.Slot, append(e.Weights, edges.Weight(k))
			}
		}
	}
	return rows
}
