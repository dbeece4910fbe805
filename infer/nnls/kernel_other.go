//go:build !amd64 || purego

package nnls

func products(to []float64, across, t []float32) { productsPlain(to, across, t) }

func project(s *stage, path []*stage, gram []float64) { projectPlain(s, path, gram) }

func rising(r, left []float64, most float64, from int) int { return risingPlain(r, left, most, from) }

func quickProducts(to, across, t []float32) { quickProductsPlain(to, across, t) }

func (s *coordinates) fill(q *quick, cols []int32, b []float32) { s.fillPlain(q, cols, b) }

func (p *pick) scan(s *coordinates) { p.scanPlain(s) }
