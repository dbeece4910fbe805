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

// Take returns the given rows, in that order.
func (f Features) Take(rows []int32) Features {
	if f.Sparse != nil {
		return Features{Sparse: f.Sparse.Take(rows)}
	}
	return Features{Dense: f.Dense.Take(rows)}
}
