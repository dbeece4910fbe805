// Package deploy puts a model onto the graph that arrivals attach to, calibrates it there on the support nodes, and
// measures what it costs.
//
//	deploy.go       a model on T or S, joint or frozen, with label or error propagation
//	calibration.go  the choices of validation: temperature, propagation, confidence
//	row.go          a row of the results before it is measured; its costs
package deploy

import (
	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/eval"
)

// Deployment is a model on the graph that arrivals attach to: T or S, joint or frozen.
type Deployment struct {
	Model      infer.Model
	Attachment string
	Bins       *graph.Bins // of the tables; nil: joint, or edges have no weights
	Through    *graph.CSR  // M; nil on T
	Kept       int64       // bytes kept for T's nodes besides: see eval.Result.KeptBytes
	Tables     *infer.Tables
	Expert     *infer.Expert    // of own features, beside the model; nil: it answers alone
	Own        artifact.OwnInfo // what the expert gained on validation
	Decay      float64          // of a rival that has one of its own; 0: the model's
	// Build makes the deployment from its own copies, so that its memory can be measured.
	Build func() infer.Deployment
	// Pass is the same, with nothing kept between batches; nil on S.
	Pass func() infer.Deployment
	// Near is the same over the two-hop neighbourhood of a batch, where a model reaches no further; nil on S.
	Near func() infer.Deployment
	// Spread prepares label or error propagation at one α; nil of rivals, which have none.
	Spread func(kind string, alpha float32) (*Propagation, error)
	// Sweep prepares it at all α at once, for d, the deployed model.
	Sweep func(kind string, d infer.Deployment) (infer.Sweeper, error)
}

// Propagation is a propagation before it is deployed.
type Propagation struct {
	Tables *infer.Tables // nil: joint
	build  func(d infer.Deployment) infer.Propagation
}

// Predictor deploys the model; s is nil for a calibration without propagation.
func (p *Deployment) Predictor(c infer.Calibration, s *Propagation) *infer.Predictor {
	out := &infer.Predictor{Model: p.Build(), Expert: p.Expert, Calibration: c}
	if s != nil {
		out.Propagation = s.build(out.Model)
	}
	return out
}

// Plain returns a predictor without calibration.
func (p *Deployment) Plain() *infer.Predictor {
	out := eval.Plain(p.Quickest())
	out.Expert = p.Expert
	return out
}

// WithoutExpert returns the model as it answers alone.
func (p *Deployment) WithoutExpert() *Deployment {
	out := *p
	out.Expert, out.Own = nil, artifact.OwnInfo{}
	return &out
}

// Quickest returns a deployment with the same bits as Build's, by the neighbourhood of a batch where that is sooner.
func (p *Deployment) Quickest() infer.Deployment {
	if p.Near != nil {
		return p.Near()
	}
	return p.Build()
}

// On returns a set of batches attached to the graph of the model.
func (p *Deployment) On(s *eval.Set) *eval.Set {
	if p.Through == nil {
		return s.InBins(p.Bins)
	}
	return s.On(p.Through, p.Bins)
}

// JointPropagation is propagation on a graph with the batch in it.
func JointPropagation(kind string, adj *graph.CSR, labels []int32, classes int, alpha float32) *Propagation {
	return &Propagation{build: func(d infer.Deployment) infer.Propagation {
		return jointPropagation(kind, adj.Clone(), labels, classes, d, alpha)
	}}
}

func jointPropagation(kind string, adj *graph.CSR, labels []int32, classes int, d infer.Deployment,
	alpha float32) infer.JointPropagation {
	if kind == infer.PropagateLabels {
		return infer.JointLabels(adj, labels, classes, alpha)
	}
	return infer.JointErrors(adj, labels, d.(infer.NodeLogits), alpha)
}

// JointSweep prepares propagation on a graph at all α at once.
func JointSweep(adj *graph.CSR, labels []int32, classes int) func(string, infer.Deployment) (infer.Sweeper, error) {
	return func(kind string, d infer.Deployment) (infer.Sweeper, error) {
		return jointPropagation(kind, adj, labels, classes, d, 1), nil
	}
}

// FrozenPropagation is propagation on tables of T or S.
func FrozenPropagation(kind string, tables *infer.Tables, alpha float32) *Propagation {
	return &Propagation{Tables: tables, build: func(infer.Deployment) infer.Propagation {
		return infer.FrozenPropagation(tables, alpha, kind == infer.PropagateLabels)
	}}
}

// CopyModel returns a copy of a model with its own weights.
func CopyModel(m infer.Model) infer.Model {
	params := m.Params()
	for k := range params {
		params[k].Value = params[k].Value.Clone()
	}
	out, err := infer.Build(m.Name(), params)
	if err != nil {
		panic(err) // they are a model's
	}
	return out
}

// Calibrated predicts with the model as a calibration has it by default.
func (p *Deployment) Calibrated(c *Calibration) *infer.Predictor {
	if chosen := c.Kinds[c.Kind]; chosen != nil {
		return p.Predictor(chosen.Calibration(c.Kind), chosen.Spreading)
	}
	return p.Predictor(infer.Calibration{Temperature: c.Temperature, Kind: infer.PropagateNone}, nil)
}
