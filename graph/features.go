package graph

// Features are n rows of d raw node features. Exactly one of Dense and Sparse is set.
type Features struct {
	Dense  *Dense
	Sparse *CSR
}

// Rows returns the number of nodes n.
func (f Features) Rows() int {
	if f.Sparse != nil {
		return f.Sparse.Rows
	}
	return f.Dense.Rows
}

// Cols returns the number of features d.
func (f Features) Cols() int {
	if f.Sparse != nil {
		return f.Sparse.Cols
	}
	return f.Dense.Cols
}

// Each visits the values of row i that are stored: all of a dense row, a value of 1 for each entry of a pattern.
func (f Features) Each(i int, visit func(c int, v float32)) {
	if f.Sparse == nil {
		for c, v := range f.Dense.Row(i) {
			visit(c, v)
		}
		return
	}
	cols, vals := f.Sparse.Row(i)
	for p, c := range cols {
		if vals == nil {
			visit(int(c), 1)
		} else {
			visit(int(c), vals[p])
		}
	}
}

// Take returns the given rows, in that order.
func (f Features) Take(rows []int32) Features {
	if f.Sparse != nil {
		return Features{Sparse: f.Sparse.Take(rows)}
	}
	return Features{Dense: f.Dense.Take(rows)}
}

// View returns the given rows, in that order: dense rows that follow each other as a view, others as a copy. Who asks
// for a view does not write to it.
func (f Features) View(rows []int32) Features {
	for k, i := range rows {
		if f.Sparse != nil || int(i) != int(rows[0])+k {
			return f.Take(rows)
		}
	}
	if len(rows) == 0 {
		return f.Take(rows)
	}
	lo, cols := int(rows[0]), f.Dense.Cols
	return Features{Dense: &Dense{Rows: len(rows), Cols: cols, Data: f.Dense.Data[lo*cols : (lo+len(rows))*cols]}}
}

// Head returns the first n rows, a view.
func (f Features) Head(n int) Features {
	if f.Sparse == nil {
		return Features{Dense: &Dense{Rows: n, Cols: f.Dense.Cols, Data: f.Dense.Data[:n*f.Dense.Cols]}}
	}
	s := *f.Sparse
	s.Rows, s.RowPtr = n, s.RowPtr[:n+1]
	s.ColIdx = s.ColIdx[:s.RowPtr[n]]
	if s.Val != nil {
		s.Val = s.Val[:s.RowPtr[n]]
	}
	return Features{Sparse: &s}
}
