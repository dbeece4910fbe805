package graph

// densify returns m as a dense matrix; equal positions add up.
func densify(m *CSR) *Dense {
	out := NewDense(m.Rows, m.Cols)
	for i := range m.Rows {
		cols, vals := m.Row(i)
		for p, c := range cols {
			v := float32(1)
			if vals != nil {
				v = vals[p]
			}
			out.Row(i)[c] += v
		}
	}
	return out
}
