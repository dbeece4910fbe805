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
	"rivulet/infer/attach"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/trainer/eval"
)

// Deployment is a model on the graph that arrivals attach to: T or S, joint or frozen.
type Deployment struct {
	Model      infer.Model
	Attachment string
	Slots      graph.Slots // that edges read
	Through    *graph.CSR  // M; nil on T
	Kept       int64       // bytes kept for T's nodes besides: see eval.Result.KeptBytes
	Tables     *infer.Tables
	Expert     *perceptron.Expert // of own features, beside the model; nil: it answers alone
	Own        artifact.OwnInfo   // what the expert gained on validation
	Decay      float64            // of a rival that has one of its own; 0: the model's
	// Build makes the deployment from its own copies, so that its memory can be measured.
	Build func() infer.Deployment
	// Pass is the same, with nothing kept between batches; nil on S.
	Pass func() infer.Deployment
	// Near is the same over the two-hop neighbourhood of a batch, where a model reaches no further; nil on S.
	Near func() infer.Deployment
	// Spread prepares a propagation at one α; nil of rivals, which have none.
	Spread func(kind string, alpha float32) (*Propagation, error)
	// Sweep prepares it at all α at once, for d, the deployed model.
	Sweep func(kind string, d infer.Deployment) (infer.Sweeper, error)
}

// Propagation is a propagation before it is deployed.
type Propagation struct {
	Tables *infer.Tables // nil: it runs on the graph
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
		return s.InSlots(p.Slots)
	}
	return s.On(p.Through, p.Slots)
}

// Graph is a graph that arrivals are joined to: T, or an S that is a graph.
type Graph struct {
	Adj        *graph.CSR
	X          preprocess.Inputs
	Labels     []int32
	Classes    int
	Preprocess *preprocess.Parameters
	Features   graph.Features // any raw features that models read
}

// Logits returns the logits of the graph's own nodes, without arrivals.
func (g *Graph) Logits(m infer.Model) *graph.Dense {
	none := attach.WithoutEdges(g.Features.Take(nil), g.Adj.Rows)
	return m.Joint(g.Adj, g.X, g.Preprocess).(infer.NodeLogits).GraphLogits(none)
}

// Seeds returns F0 of a kind of propagation on the graph.
func (g *Graph) Seeds(kind string, m infer.Model) *graph.Dense {
	if kind == propagation.Errors {
		return infer.ErrorSeeds(g.Labels, g.Logits(m))
	}
	return infer.LabelSeeds(g.Labels, g.Classes)
}

// Tables returns the graph's own frozen tables of a kind of propagation.
func (g *Graph) Tables(kind string, m infer.Model, alpha float32, edges []float32) *infer.Tables {
	return infer.PropagationTables(g.Adj, g.Seeds(kind, m), alpha, edges...)
}

// Joint returns a model on the graph with the arrivals in it.
func (g *Graph) Joint(m infer.Model) *Deployment {
	return &Deployment{Model: m, Attachment: artifact.AttachJoint,
		Build: func() infer.Deployment { return copyModel(m).Joint(g.Adj.Clone(), g.X, g.Preprocess) },
		Spread: func(kind string, alpha float32) (*Propagation, error) {
			return &Propagation{build: func(d infer.Deployment) infer.Propagation {
				return jointPropagation(kind, g.Adj.Clone(), g.Labels, g.Classes, d, alpha)
			}}, nil
		},
		Sweep: func(kind string, d infer.Deployment) (infer.Sweeper, error) {
			return jointPropagation(kind, g.Adj, g.Labels, g.Classes, d, 1), nil
		}}
}

// Whole is Joint on T, which may also keep nothing between batches, or read only the neighbourhood of a batch.
func (g *Graph) Whole(m infer.Model) *Deployment {
	p := g.Joint(m)
	p.Pass = func() infer.Deployment { return &infer.Pass{Model: m, Adj: g.Adj, X: g.X, Preprocess: g.Preprocess} }
	p.Near = func() infer.Deployment { return copyModel(m).Neighbourhood(g.Adj.Clone(), g.X, g.Preprocess) }
	return p
}

func jointPropagation(kind string, adj *graph.CSR, labels []int32, classes int, d infer.Deployment,
	alpha float32) infer.JointPropagation {
	if kind == propagation.Labels {
		return infer.JointLabels(adj, labels, classes, alpha)
	}
	return infer.JointErrors(adj, labels, d.(infer.NodeLogits), alpha)
}

// Frozen returns a model that reads tables of T or S. propagation returns the tables of a kind of propagation at one α.
func Frozen(m infer.Model, tables *infer.Tables, pre *preprocess.Parameters,
	propagation func(kind string, alpha float32) (*infer.Tables, error)) *Deployment {
	return &Deployment{Model: m, Attachment: artifact.AttachFrozen, Tables: tables,
		Build: func() infer.Deployment { return copyModel(m).Frozen(tables, pre) },
		Spread: func(kind string, alpha float32) (*Propagation, error) {
			of, err := propagation(kind, alpha)
			return FrozenPropagation(kind, of, alpha), err
		},
		Sweep: func(kind string, _ infer.Deployment) (infer.Sweeper, error) {
			hops, err := propagation(kind, 1)
			return infer.FrozenSweep(kind, hops), err
		}}
}

// FrozenPropagation is propagation on tables of T or S.
func FrozenPropagation(kind string, tables *infer.Tables, alpha float32) *Propagation {
	return &Propagation{Tables: tables, build: func(infer.Deployment) infer.Propagation {
		return infer.Calibration{Kind: kind, Alpha: alpha}.Frozen(tables)
	}}
}

// copyModel returns a copy of a model with its own weights.
func copyModel(m infer.Model) infer.Model {
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
	return p.Predictor(c.plain(), nil)
}
