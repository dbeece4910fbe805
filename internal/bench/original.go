package bench

import (
	"math/rand/v2"
	"slices"

	"rivulet/graph"
)

// endpoint draws a node of T by its degree: the degree of the k-th node falls with k^-½, the power law of exponent 3.
func (s *Shape) endpoint(rng *rand.Rand) int32 {
	u := rng.Float64()
	return int32(u * u * float64(s.Original))
}

// original draws T's adjacency matrix, a symmetric pattern without a diagonal: about Entries, as edges that
// are drawn twice count once.
func (s *Shape) original() *graph.CSR {
	rng := s.rng("original")
	from, to := make([]int32, 0, s.Entries), make([]int32, 0, s.Entries)
	for len(from) < s.Entries-1 {
		if i, j := s.endpoint(rng), s.endpoint(rng); i != j {
			from, to = append(from, i, j), append(to, j, i)
		}
	}
	m := &graph.CSR{Rows: s.Original, Cols: s.Original, RowPtr: make([]int, s.Original+1)}
	for _, i := range from {
		m.RowPtr[i+1]++
	}
	for i := range s.Original {
		m.RowPtr[i+1] += m.RowPtr[i]
	}
	next := slices.Clone(m.RowPtr)
	m.ColIdx = make([]int32, len(to))
	for e, i := range from {
		m.ColIdx[next[i]] = to[e]
		next[i]++
	}
	return withoutRepeats(m)
}

// withoutRepeats sorts the columns of each row and drops repeated ones.
func withoutRepeats(m *graph.CSR) *graph.CSR {
	kept := m.ColIdx[:0]
	start := 0
	for i := range m.Rows {
		row := m.ColIdx[start:m.RowPtr[i+1]]
		start = m.RowPtr[i+1]
		slices.Sort(row)
		kept = append(kept, slices.Compact(row)...)
		m.RowPtr[i+1] = len(kept)
	}
	m.ColIdx = kept
	return m
}

// drawnInputs stand for T's preprocessed features: it draws their product with a first weight matrix, as the features
// themselves would take Original·Features numbers. The rivals multiply by that matrix once, before the first batch, so
// that no figure includes it.
type drawnInputs struct{ shape *Shape }

// Project returns N×h.
func (d drawnInputs) Project(w *graph.Dense) *graph.Dense {
	return dense(d.shape.rng("features"), d.shape.Original, w.Cols, 1)
}

// Matrix returns N×d.
func (d drawnInputs) Matrix() *graph.Dense {
	return dense(d.shape.rng("features"), d.shape.Original, d.shape.Features, 1)
}
