package mcond

import (
	"fmt"
	"slices"

	"rivulet/graph"
)

// sparse drops the entries of m (A' or M, both with N' columns) below threshold/N', and zeros; the other entries are
// not rescaled. A row of M that is spread evenly has entries of 1/N', so that a threshold means the same for every N'.
func sparse(m *matrix[float32], threshold float64) *graph.CSR {
	out := &graph.CSR{Rows: m.rows, Cols: m.cols, RowPtr: make([]int, m.rows+1), Val: []float32{}}
	least := threshold / float64(max(1, m.cols))
	for i := range m.rows {
		for k, v := range m.row(i) {
			if v > 0 && float64(v) >= least {
				out.ColIdx = append(out.ColIdx, int32(k))
				out.Val = append(out.Val, v)
			}
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out
}

// snapshot returns a state with the given thresholds.
func (l *learner) snapshot(s *state, mu, delta float64) *Snapshot {
	out := &Snapshot{Round: s.round, Mu: mu, Delta: delta, Adj: sparse(s.adj, mu), X: l.expanded(s.x),
		Labels: slices.Clone(l.labels)}
	if s.mapping != nil {
		out.M = sparse(s.mapping, delta)
	}
	return out
}

// sparsify evaluates a state under every pair of thresholds and returns the most accurate, among equals the one
// with the fewest entries, and all of them.
func (l *learner) sparsify(s *state) (best *Snapshot, accuracy float64, all []Threshold, err error) {
	deltas := l.o.Delta
	if s.mapping == nil {
		deltas = deltas[:1]
	}
	fewest := 0
	for _, mu := range l.o.Mu {
		onMu := l.snapshot(s, mu, deltas[0])
		for _, delta := range deltas {
			c := *onMu
			t := Threshold{Mu: mu, Delta: delta, EntriesA: c.Adj.NNZ()}
			if s.mapping != nil {
				c.Delta, c.M = delta, sparse(s.mapping, delta)
				t.EntriesM = c.M.NNZ()
			}
			if t.Accuracy, err = l.in.Validate(&c); err != nil {
				return nil, 0, nil, fmt.Errorf("evaluating μ = %g, δ = %g: %w", mu, delta, err)
			}
			all = append(all, t)
			entries := t.EntriesA + t.EntriesM
			if best == nil || t.Accuracy > accuracy || (t.Accuracy == accuracy && entries < fewest) {
				best, accuracy, fewest = &c, t.Accuracy, entries
			}
		}
	}
	return best, accuracy, all, nil
}
