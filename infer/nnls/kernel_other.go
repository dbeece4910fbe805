//go:build !amd64 || purego

package nnls

func products(to []float64, across, t []float32) { productsPlain(to, across, t) }

func project(s *stage, path []*stage, gram []float64) { projectPlain(s, path, gram) }

func rising(r, left []float64, most float64, from int) int { return risingPlain(r, left, most, from) }
