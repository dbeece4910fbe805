// Package infertest makes models for tests.
package infertest

import "rivulet/infer"

// Model returns a model of an architecture and layers; it panics if they do not fit.
func Model(name string, alpha float32, hops int, layers ...infer.Layer) infer.Model {
	a, err := infer.Lookup(name)
	if err != nil {
		panic(err)
	}
	m, err := a.New(layers, alpha, hops)
	if err != nil {
		panic(err)
	}
	return m
}
