package trainer

import (
	"fmt"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/deploy"
)

// jointOnT joins arrivals to T. It holds the projection of T's features, not the features.
func (t *task) jointOnT(m infer.Model) *deploy.Deployment {
	p := &deploy.Deployment{Model: m, Attachment: artifact.AttachJoint}
	p.Build = func() infer.Deployment {
		return deploy.CopyModel(m).Joint(t.original.Adj.Clone(), t.inputs, t.pre)
	}
	p.Pass = func() infer.Deployment {
		return &infer.Pass{Model: m, Adj: t.original.Adj, X: t.inputs, Preprocess: t.pre}
	}
	p.Near = func() infer.Deployment {
		return deploy.CopyModel(m).Neighbourhood(t.original.Adj.Clone(), t.inputs, t.pre)
	}
	p.Spread = func(kind string, alpha float32) (*deploy.Propagation, error) {
		return deploy.JointPropagation(kind, t.original.Adj, t.original.Labels, t.classes(), alpha), nil
	}
	p.Sweep = deploy.JointSweep(t.original.Adj, t.original.Labels, t.classes())
	return p
}

// jointOnS joins arrivals to S through M.
func (t *task) jointOnS(c *graphParts, m infer.Model) *deploy.Deployment {
	s := c.Synthetic
	p := &deploy.Deployment{Model: m, Attachment: artifact.AttachJoint, Through: c.M,
		Kept: int64(condense.MappingBytes(c.M))}
	p.Build = func() infer.Deployment {
		return deploy.CopyModel(m).Joint(s.Adj.Clone(), preprocess.Ready(s.X), t.pre)
	}
	p.Spread = func(kind string, alpha float32) (*deploy.Propagation, error) {
		return deploy.JointPropagation(kind, s.Adj, s.Labels, t.classes(), alpha), nil
	}
	p.Sweep = deploy.JointSweep(s.Adj, s.Labels, t.classes())
	return p
}

// frozen deploys by tables: of S through M, or T's own, which is Whole with each arrival joined alone.
func (t *task) frozen(c condensation, m infer.Model) (*deploy.Deployment, error) {
	tables, err := c.tables(m)
	if err != nil {
		return nil, err
	}
	p := &deploy.Deployment{Model: m, Attachment: artifact.AttachFrozen, Tables: tables, Through: c.parts().M,
		Bins: t.bins, Kept: int64(condense.CachedBytes(tables))}
	if p.Through != nil {
		p.Kept = int64(condense.MappingBytes(p.Through))
	}
	p.Build = func() infer.Deployment { return deploy.CopyModel(m).Frozen(tables, t.pre) }
	p.Spread = func(kind string, alpha float32) (*deploy.Propagation, error) {
		of, err := c.propagation(kind, m, alpha)
		return deploy.FrozenPropagation(kind, of, alpha), err
	}
	p.Sweep = func(kind string, _ infer.Deployment) (infer.Sweeper, error) {
		hops, err := c.propagation(kind, m, 1)
		return infer.FrozenSweep(hops, kind == infer.PropagateLabels), err
	}
	return p, nil
}

// place deploys a model on S with an attachment.
func (t *task) place(c condensation, m infer.Model, attachment string) (*deploy.Deployment, error) {
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
