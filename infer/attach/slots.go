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
	if len(e.Weights) == 0 {
		return 1
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
		var totals [graph.MaxSlots]float64 // of the weights of each slot's edges to known neighbours
		first := len(s.rows)
		for _, row := range rows {
			if row.Edge == nil {
				row.Edge = &said
			}
			if s.rows = append(s.rows, row); relational {
				to := &s.rows[len(s.rows)-1]
				to.Known = row.Known && row.Edge.Relations != 0
				to.eachSlot(slots, func(slot int, w float32) { totals[slot] += float64(w) })
			}
		}
		for k := range s.rows[first:] {
			row := &s.rows[first+k]
			if from := len(s.cols); relational {
				row.eachSlot(slots, func(slot int, w float32) { s.add(row, slot*synthetic, float32(float64(w)/totals[slot])) })
				row.Cols, row.Vals = s.cols[from:], s.vals[from:]
			} else {
				w := row.Edge.heaviest()
				s.add(row, slots.Of(slots.Counted(w))*synthetic, slots.Counted(w))
				row.Cols, row.Vals = s.cols[from:], s.vals[from:]
			}
		}
		s.lists = append(s.lists, s.rows[first:])
	}
	return s.lists
}

// eachSlot calls use with the slots of an edge to a known neighbour and the weight by which it counts in each.
func (r *Row) eachSlot(slots *graph.Slots, use func(slot int, w float32)) {
	if !r.Known {
		return
	}
	for of, k := r.Edge.Relations, 0; of != 0; of, k = of&(of-1), k+1 {
		use(bits.TrailingZeros32(of), slots.Counted(r.Edge.weight(k)))
	}
}

// add adds the entries of a row times a share, in the columns of a slot.
func (s *slottedRows) add(row *Row, shift int, share float32) {
	for p, c := range row.Cols {
		s.cols, s.vals = append(s.cols, c+int32(shift)), append(s.vals, share*row.Vals[p])
	}
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
