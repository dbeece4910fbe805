package attach

import (
	"slices"
	"unsafe"

	"rivulet/graph"
)

// weighedRows are rows of M times weights of edges, or shares of means, in memory that is used again.
type weighedRows struct {
	lists [][]Row
	rows  []Row
	cols  []int32
	vals  []float32
}

// Weigh returns the rows of neighbours times the weights of the edges to them, for [Attacher.Attach] and explanations.
// Without weights (nil) each edge weighs 1. With bins a row has bins·synthetic columns, and an edge fills those of its
// bin with the weight by which it counts ([graph.Bins.Counted]); without bins, for a graph that the batch is joined to,
// a row has synthetic columns. They are valid until the next call.
func (a *Attacher) Weigh(neighbours [][]Row, weights [][]float32, bins *graph.Bins, synthetic int) [][]Row {
	s := &a.weighed
	s.begin(neighbours)
	for i, rows := range neighbours {
		first := len(s.rows)
		for k, row := range rows {
			from := len(s.cols)
			row.Weight = 1
			if weights != nil && weights[i] != nil {
				row.Weight = bins.Counted(weights[i][k])
			}
			shift := int32(bins.Of(row.Weight) * synthetic)
			for p, c := range row.Cols {
				s.cols, s.vals = append(s.cols, c+shift), append(s.vals, row.Weight*row.Vals[p])
			}
			row.Cols, row.Vals = s.cols[from:], s.vals[from:]
			s.rows = append(s.rows, row)
		}
		s.lists = append(s.lists, s.rows[first:])
	}
	return s.lists
}

// begin makes room for rows and about as many entries as they have.
func (s *weighedRows) begin(neighbours [][]Row) {
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
func (s *weighedRows) bytes() int {
	return int(unsafe.Sizeof(Row{}))*cap(s.rows) + 4*(cap(s.cols)+cap(s.vals))
}

// sumWeights returns the sums of the weights of the edges to known neighbours; nil if edges have none.
func sumWeights(neighbours [][]Row) []float32 {
	at := slices.IndexFunc(neighbours, func(rows []Row) bool { return len(rows) > 0 })
	if at < 0 || neighbours[at][0].Weight == 0 {
		return nil
	}
	sums := make([]float32, len(neighbours))
	for i, rows := range neighbours {
		sum := 0.0
		for k := range rows {
			if rows[k].Known {
				sum += float64(rows[k].Weight)
			}
		}
		sums[i] = float32(sum)
	}
	return sums
}
