// Package infertest makes models for tests.
package infertest

import (
	"rivulet/infer"
	"rivulet/infer/architecture"
)

// Model returns a model of an architecture and layers; it panics if they do not fit.
func Model(name string, alpha float32, hops int, layers ...architecture.Layer) infer.Model {
	a, err := architecture.Lookup(name)
	if err != nil {
		panic(err)
	}
	m, err := infer.New(a, layers, alpha, hops)
	if err != nil {
		panic(err)
	}
	return m
}
