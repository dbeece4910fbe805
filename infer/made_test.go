package infer_test

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
)

// cubicCheby is a Cheby of K = 3, of its matrices W[0], W[1], W[2] of both layers.
func cubicCheby(w1, w2 []*graph.Dense, b1, b2 []float32) infer.Model {
	weights := []infer.Param{{Name: "convs.0.bias", Value: row(b1)}, {Name: "convs.1.bias", Value: row(b2)}}
	for layer, w := range [][]*graph.Dense{w1, w2} {
		for k := range w {
			weights = append(weights, infer.Param{Name: fmt.Sprintf("convs.%d.lins.%d.weight", layer, k), Value: w[k]})
		}
	}
	m, err := infer.Build("cheby", weights)
	if err != nil {
		panic(err)
	}
	return m
}

func row(b []float32) *graph.Dense { return &graph.Dense{Rows: 1, Cols: len(b), Data: b} }
