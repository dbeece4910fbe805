package attach

import (
	"slices"

	"rivulet/graph"
)

// Direct returns the rows of neighbours for tables of two directions, for [Attacher.Attach] and explanations. An edge
// from an arrival reads columns 0 to synthetic times its share of all edges from it to known neighbours, and an edge to
// the arrival the columns behind them times its share of those. Directions are bits, [graph.Outgoing] and
// [graph.Incoming]; nil: each edge leads from its arrival. Neighbours by edges of a direction that the bins do not read
// become unknown. The rows are valid until the next call.
func (a *Attacher) Direct(neighbours [][]Row, directions [][]uint8, bins *graph.Bins, synthetic int) [][]Row {
	s := &a.weighed
	s.begin(neighbours, 2)
	for i, rows := range neighbours {
		of := func(k int) uint8 {
			bits := uint8(graph.Outgoing)
			if directions != nil && directions[i] != nil {
				bits = directions[i][k]
			}
			if bins.Arriving != 0 {
				bits &= bins.Arriving
			}
			return bits
		}
		first, counts := len(s.rows), [2]int{}
		for k := range rows {
			for side := range counts {
				if rows[k].Known && of(k)>>side&1 != 0 {
					counts[side]++
				}
			}
		}
		for k, row := range rows {
			from := len(s.cols)
			row.Directions = of(k)
			row.Known = row.Known && row.Directions != 0
			for side, n := range counts {
				if row.Directions>>side&1 == 0 {
					continue
				}
				share := 1 / float32(max(1, n))
				for p, c := range row.Cols {
					s.cols, s.vals = append(s.cols, c+int32(side*synthetic)), append(s.vals, share*row.Vals[p])
				}
			}
			row.Cols, row.Vals = s.cols[from:], s.vals[from:]
			s.rows = append(s.rows, row)
		}
		s.lists = append(s.lists, s.rows[first:])
	}
	return s.lists
}

// Without returns rows that [Attacher.Direct] has returned without one of them: the others' shares grow.
func Without(rows []Row, k, synthetic int) []Row {
	gone, out := rows[k], slices.Delete(slices.Clone(rows), k, k+1)
	if !gone.Known || gone.Directions == 0 {
		return out
	}
	counts := [2]int{}
	for _, row := range rows {
		for side := range counts {
			if row.Known && row.Directions>>side&1 != 0 {
				counts[side]++
			}
		}
	}
	for r := range out {
		out[r].Vals = slices.Clone(out[r].Vals)
		for p, c := range out[r].Cols {
			if side := int(c) / synthetic; gone.Directions>>side&1 != 0 {
				out[r].Vals[p] *= float32(counts[side]) / float32(counts[side]-1)
			}
		}
	}
	return out
}

// throughDirected sets the edges to S of arrivals on T, [Po | Pi] to T's nodes (n×2N), through M.
func (a *Attacher) throughDirected(b *Batch, edges, m *graph.CSR, bins *graph.Bins) {
	rows, directions := make([][]Row, edges.Rows), make([][]uint8, edges.Rows)
	for i := range rows {
		place := map[int32]int{}
		for side, nodes := range edges.Directions(i) {
			for _, j := range nodes {
				j -= int32(side * m.Rows)
				at, there := place[j]
				if !there {
					cols, vals := m.Row(int(j))
					at, place[j] = len(rows[i]), len(rows[i])
					rows[i], directions[i] = append(rows[i], Row{Known: true, Cols: cols, Vals: vals}), append(directions[i], 0)
				}
				directions[i][at] |= 1 << side
			}
		}
	}
	a.Attach(b, a.Direct(rows, directions, bins, m.Cols), 2*m.Cols)
}
