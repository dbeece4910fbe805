package infer

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer/preprocess"
)

// Parts are the tables and weights of a frozen deployment, for package explain, which takes logits apart. They are
// read-only.
type Parts struct {
	Network *Network
	Project *preprocess.Projection // onto the first weights
	// Tables has a node's tables in one row: u_t begins at column U[t], c at column C. There may be more columns.
	Tables *graph.Dense
	U      []int
	C      int
}

// PartsOf returns the parts of a frozen deployment of a model; nil of a joint one.
func PartsOf(d Deployment) *Parts {
	switch f := d.(type) {
	case *frozenMixture:
		width := len(f.bias)
		p := &Parts{Network: f.net, Project: f.project, Tables: f.tables, C: f.hops * width}
		for t := range f.hops {
			p.U = append(p.U, t*width)
		}
		return p
	case *frozenRestart:
		p := &Parts{Network: f.net, Project: f.project, Tables: f.tables}
		for t := range f.hops {
			p.U = append(p.U, 1+t*f.width)
		}
		return p
	case *frozenRelational:
		p := &Parts{Network: f.net, Project: f.project, Tables: f.tables, C: f.tables.Cols}
		at := 0
		for _, width := range f.widths() {
			p.U, at = append(p.U, at), at+width
		}
		return p
	case *frozenConvolution:
		p := &Parts{Network: f.net, Project: f.project, Tables: f.tables, U: []int{0}, C: f.layers[0].width()}
		at := p.C + f.back()
		for _, l := range f.layers[1:] {
			p.U = append(p.U, at)
			at += l.width()
		}
		return p
	}
	return nil
}

// HoldNorm returns a deployment for features that were divided by their norm before, so that leaving out a feature does
// not change the others, and the projection that has this norm.
func HoldNorm(d Deployment) (held Deployment, project *preprocess.Projection) {
	switch m := d.(type) {
	case *frozenMixture:
		of := *m
		held, project, of.project = &of, of.project, of.project.Undivided()
	case *frozenConvolution:
		of := *m
		held, project, of.project = &of, of.project, of.project.Undivided()
	case *frozenRelational:
		of := *m
		held, project, of.project = &of, of.project, of.project.Undivided()
	case *frozenRestart:
		of := *m
		held, project, of.project = &of, of.project, of.project.Undivided()
	case *joint:
		of := *m
		held, project, of.project = &of, of.project, of.project.Undivided()
	default:
		panic(fmt.Sprintf("infer: a deployment of type %T cannot be explained", d))
	}
	return held, project
}
