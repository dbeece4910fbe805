//go:build !amd64 || purego

package nnls

func products(to, across, t []float32) { productsPlain(to, across, t) }

func (s *residuals) fill(q *Solver, cols []int32, b []float32) { s.fillPlain(q, cols, b) }

func (s *residuals) scan() { s.scanPlain() }
