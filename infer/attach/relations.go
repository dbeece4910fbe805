package attach

import (
	"math/bits"
	"slices"

	"rivulet/graph"
)

// Relate returns the rows of neighbours for tables of relations, for [Attacher.Attach] and explanations. An edge of
// relation r reads the columns from r·synthetic on, times its share of the arrival's edges of this relation to known
// neighbours. relations are bits of each edge ([graph.Bins.Relations]); a neighbour by an edge of no relation becomes
// unknown. The rows are valid until the next call.
func (a *Attacher) Relate(neighbours [][]Row, relations [][]uint32, synthetic int) [][]Row {
	s := &a.weighed
	s.begin(neighbours)
	for i, rows := range neighbours {
		var counts [graph.MaxRelations]int
		first := len(s.rows)
		for k, row := range rows {
			row.Relations = relations[i][k]
			row.Known = row.Known && row.Relations != 0
			s.rows = append(s.rows, row)
			row.count(&counts)
		}
		for k := range s.rows[first:] {
			row, from := &s.rows[first+k], len(s.cols)
			for of := row.read(); of != 0; of &= of - 1 {
				r := bits.TrailingZeros32(of)
				share := 1 / float32(counts[r])
				for p, c := range row.Cols {
					s.cols, s.vals = append(s.cols, c+int32(r*synthetic)), append(s.vals, share*row.Vals[p])
				}
			}
			row.Cols, row.Vals = s.cols[from:], s.vals[from:]
		}
		s.lists = append(s.lists, s.rows[first:])
	}
	return s.lists
}

// read are the relations of the edge if the neighbour is known.
func (r *Row) read() uint32 {
	if !r.Known {
		return 0
	}
	return r.Relations
}

// count counts the edge among the edges of its relations to known neighbours.
func (r *Row) count(counts *[graph.MaxRelations]int) {
	for of := r.read(); of != 0; of &= of - 1 {
		counts[bits.TrailingZeros32(of)]++
	}
}

// Without returns rows that [Attacher.Relate] has returned without one of them: the others' shares grow.
func Without(rows []Row, k, synthetic int) []Row {
	gone, out := rows[k], slices.Delete(slices.Clone(rows), k, k+1)
	if gone.read() == 0 {
		return out
	}
	var counts [graph.MaxRelations]int
	for k := range rows {
		rows[k].count(&counts)
	}
	for r := range out {
		out[r].Vals = slices.Clone(out[r].Vals)
		for p, c := range out[r].Cols {
			if of := int(c) / synthetic; gone.Relations>>of&1 != 0 {
				out[r].Vals[p] *= float32(counts[of]) / float32(counts[of]-1)
			}
		}
	}
	return out
}

// throughRelations sets the edges to S of arrivals on T, [P_1 | … | P_R] to T's nodes (n×RN), through M.
func (a *Attacher) throughRelations(b *Batch, edges, m *graph.CSR, bins *graph.Bins) {
	rows, relations := make([][]Row, edges.Rows), make([][]uint32, edges.Rows)
	for i := range rows {
		place := map[int32]int{}
		for r, nodes := range edges.ByRelation(i, m.Rows) {
			for _, j := range nodes {
				j -= int32(r * m.Rows)
				at, there := place[j]
				if !there {
					cols, vals := m.Row(int(j))
					at, place[j] = len(rows[i]), len(rows[i])
					rows[i], relations[i] = append(rows[i], Row{Known: true, Cols: cols, Vals: vals}), append(relations[i], 0)
				}
				relations[i][at] |= 1 << r
			}
		}
	}
	a.Attach(b, a.Relate(rows, relations, m.Cols), bins.Len()*m.Cols)
}
