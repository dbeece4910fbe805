package trainer

import (
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/eval"
)

// deployedModel is a model on the graph that arrivals attach to: T or S, joint or frozen.
type deployedModel struct {
	model      infer.Model
	attachment string
	through    *graph.CSR // M; nil on T
	kept       int64      // bytes kept for T's nodes besides: see eval.Result.KeptBytes
	tables     *infer.Tables
	expert     *infer.Expert    // of own features, beside the model; nil: it answers alone
	own        artifact.OwnInfo // what the expert gained on validation
	decay      float64          // of a rival that has one of its own; 0: the model's
	// build makes the deployment from its own copies, so that its memory can be measured.
	build func() infer.Deployment
	// pass is the same, with nothing kept between batches; nil on S.
	pass func() infer.Deployment
	// near is the same over the two-hop neighbourhood of a batch, where a model reaches no further; nil on S.
	near func() infer.Deployment
	// spread prepares label or error propagation at one α; nil of rivals, which have none.
	spread func(kind string, alpha float32) (*propagationTables, error)
	// sweep prepares it at all α at once, for d, the deployed model.
	sweep func(kind string, d infer.Deployment) (infer.Sweeper, error)
}

// propagationTables is a propagation before it is deployed.
type propagationTables struct {
	tables *infer.Tables // nil: joint
	build  func(d infer.Deployment) infer.Propagation
}

// predictor deploys the model; s is nil for a calibration without propagation.
func (p *deployedModel) predictor(c infer.Calibration, s *propagationTables) *infer.Predictor {
	out := &infer.Predictor{Model: p.build(), Expert: p.expert, Calibration: c}
	if s != nil {
		out.Propagation = s.build(out.Model)
	}
	return out
}

// plain returns a predictor without calibration.
func (p *deployedModel) plain() *infer.Predictor {
	out := plain(p.quickest())
	out.Expert = p.expert
	return out
}

// withoutExpert returns the model as it answers alone.
func (p *deployedModel) withoutExpert() *deployedModel {
	out := *p
	out.expert, out.own = nil, artifact.OwnInfo{}
	return &out
}

// quickest returns a deployment with the same bits as build's, by the neighbourhood of a batch where that is sooner.
func (p *deployedModel) quickest() infer.Deployment {
	if p.near != nil {
		return p.near()
	}
	return p.build()
}

// on returns a set of batches attached to the graph of the model.
func (p *deployedModel) on(s *eval.Set) *eval.Set {
	if p.through == nil {
		return s
	}
	return s.On(p.through)
}

// jointOnT joins arrivals to T. It holds the projection of T's features, not the features.
func (t *task) jointOnT(m infer.Model) *deployedModel {
	p := &deployedModel{model: m, attachment: artifact.AttachJoint}
	p.build = func() infer.Deployment { return cloned(m).Joint(copied(t.original.Adj), t.inputs, t.pre) }
	p.pass = func() infer.Deployment {
		return &infer.Pass{Model: m, Adj: t.original.Adj, X: t.inputs, Preprocess: t.pre}
	}
	p.near = func() infer.Deployment { return cloned(m).Neighbourhood(copied(t.original.Adj), t.inputs, t.pre) }
	p.spread = func(kind string, alpha float32) (*propagationTables, error) {
		return jointSpreading(kind, t.original.Adj, t.original.Labels, t.classes(), alpha), nil
	}
	p.sweep = jointSweep(t.original.Adj, t.original.Labels, t.classes())
	return p
}

// jointOnS joins arrivals to S through M.
func (t *task) jointOnS(c *graphParts, m infer.Model) *deployedModel {
	s := c.Synthetic
	p := &deployedModel{model: m, attachment: artifact.AttachJoint, through: c.M, kept: int64(condense.MappingBytes(c.M))}
	p.build = func() infer.Deployment { return cloned(m).Joint(copied(s.Adj), preprocess.Ready(s.X), t.pre) }
	p.spread = func(kind string, alpha float32) (*propagationTables, error) {
		return jointSpreading(kind, s.Adj, s.Labels, t.classes(), alpha), nil
	}
	p.sweep = jointSweep(s.Adj, s.Labels, t.classes())
	return p
}

// frozen deploys by tables: of S through M, or T's own, which is Whole with each arrival joined alone.
func (t *task) frozen(c condensation, m infer.Model) (*deployedModel, error) {
	tables, err := c.tables(m)
	if err != nil {
		return nil, err
	}
	p := &deployedModel{model: m, attachment: artifact.AttachFrozen, tables: tables, through: c.parts().M,
		kept: int64(condense.CachedBytes(tables))}
	if p.through != nil {
		p.kept = int64(condense.MappingBytes(p.through))
	}
	p.build = func() infer.Deployment { return cloned(m).Frozen(tables, t.pre) }
	p.spread = func(kind string, alpha float32) (*propagationTables, error) {
		of, err := c.propagation(kind, m, alpha)
		return frozenSpreading(kind, of, alpha), err
	}
	p.sweep = func(kind string, _ infer.Deployment) (infer.Sweeper, error) {
		hops, err := c.propagation(kind, m, 1)
		return infer.FrozenSweep(hops, kind == infer.PropagateLabels), err
	}
	return p, nil
}

// place deploys a model on S with an attachment.
func (t *task) place(c condensation, m infer.Model, attachment string) (*deployedModel, error) {
	if r, ok := c.(*rivals); ok {
		return r.deploy(m), nil
	}
	switch {
	case !c.parts().has(attachment):
		return nil, fmt.Errorf("attachment is %s, which method %s does not have", attachment, t.label)
	case attachment == artifact.AttachJoint:
		return t.jointOnS(c.parts(), m), nil
	}
	if err := infer.Freezable(m); err != nil {
		return nil, err
	}
	return t.frozen(c, m)
}

func jointSpreading(kind string, adj *graph.CSR, labels []int32, classes int, alpha float32) *propagationTables {
	return &propagationTables{build: func(d infer.Deployment) infer.Propagation {
		return jointPropagation(kind, copied(adj), labels, classes, d, alpha)
	}}
}

func jointPropagation(kind string, adj *graph.CSR, labels []int32, classes int, d infer.Deployment,
	alpha float32) infer.JointPropagation {
	if kind == infer.PropagateLabels {
		return infer.JointLabels(adj, labels, classes, alpha)
	}
	return infer.JointErrors(adj, labels, d.(infer.NodeLogits), alpha)
}

// jointSweep prepares propagation on a graph at all α at once.
func jointSweep(adj *graph.CSR, labels []int32, classes int) func(string, infer.Deployment) (infer.Sweeper, error) {
	return func(kind string, d infer.Deployment) (infer.Sweeper, error) {
		return jointPropagation(kind, adj, labels, classes, d, 1), nil
	}
}

func frozenSpreading(kind string, tables *infer.Tables, alpha float32) *propagationTables {
	return &propagationTables{tables: tables, build: func(infer.Deployment) infer.Propagation {
		return infer.FrozenPropagation(tables, alpha, kind == infer.PropagateLabels)
	}}
}

// seeds returns F0 of a kind of propagation on T, for the logits of T alone.
func (t *task) seeds(kind string, m infer.Model) *graph.Dense {
	if kind == infer.PropagateLabels {
		return infer.LabelSeeds(t.original.Labels, t.classes())
	}
	return infer.ErrorSeeds(t.original.Labels, t.logitsOnT(m))
}

// seedsOnS returns F0 of a kind of propagation on an S that is a graph.
func (t *task) seedsOnS(kind string, s artifact.Synthetic, m infer.Model) *graph.Dense {
	if kind == infer.PropagateLabels {
		return infer.LabelSeeds(s.Labels, t.classes())
	}
	onS := m.Joint(s.Adj, preprocess.Ready(s.X), t.pre).(infer.NodeLogits)
	return infer.ErrorSeeds(s.Labels, onS.GraphLogits(alone(t.original.X, s.Adj.Rows)))
}

func copied(a *graph.CSR) *graph.CSR {
	return &graph.CSR{Rows: a.Rows, Cols: a.Cols, RowPtr: slices.Clone(a.RowPtr), ColIdx: slices.Clone(a.ColIdx),
		Val: slices.Clone(a.Val)}
}

// cloned returns a copy of a model with its own weights.
func cloned(m infer.Model) infer.Model {
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
