package infer

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer/preprocess"
)

// Parts are the tables and weights of a linear model's frozen deployment, for package explain, which takes logits
// apart. They are read-only.
type Parts struct {
	Project *preprocess.Projection // onto the weights
	Bias    []float32
	Mix     []float32 // w_0 … w_K of the hops; nil of a relational model, which has one layer
	// Tables has a node's tables in one row: u_t begins at column U[t], c at column C. There may be more columns.
	Tables *graph.Dense
	U      []int
	C      int
}

// PartsOf returns the parts of a frozen deployment of a linear model; nil of any other deployment.
func PartsOf(d Deployment) *Parts {
	switch f := d.(type) {
	case *frozenMixture:
		width := len(f.bias)
		p := &Parts{Project: f.project, Bias: f.bias, Mix: f.all, Tables: f.tables, C: f.hops * width}
		for t := range f.hops {
			p.U = append(p.U, t*width)
		}
		return p
	case *frozenRelational:
		if f.net.Architecture.Linear() {
			return &Parts{Project: f.project, Bias: f.layers[0].bias, Tables: f.tables, U: []int{0}}
		}
	}
	return nil
}

// HoldNorm returns a deployment for features that were divided by their norm before, so that leaving out a feature does
// not change the others, and the projection that has this norm. An answer depends on arrivals of its batch that are at
// most reach edges of ã away; with a negative reach on all of them.
func HoldNorm(d Deployment) (held Deployment, project *preprocess.Projection, reach int) {
	switch m := d.(type) {
	case *frozenMixture:
		of := *m
		held, project, of.project, reach = &of, of.project, of.project.Undivided(), of.hops
	case *frozenConvolution:
		of := *m
		held, project, of.project, reach = &of, of.project, of.project.Undivided(), len(of.layers)
	case *frozenRelational:
		of := *m
		held, project, of.project, reach = &of, of.project, of.project.Undivided(), 0
	case *frozenRestart:
		of := *m
		held, project, of.project, reach = &of, of.project, of.project.Undivided(), of.hops
	case *joint:
		of := *m
		held, project, of.project, reach = &of, of.project, of.project.Undivided(), -1
	default:
		panic(fmt.Sprintf("infer: a deployment of type %T cannot be explained", d))
	}
	return held, project, reach
}
