package trainer

import (
	"fmt"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/deploy"
)

// graph is T as a graph to join arrivals to.
func (t *T) graph() *deploy.Graph {
	return &deploy.Graph{Adj: t.Adj, X: t.inputs, Labels: t.Labels, Classes: t.Classes(), Preprocess: t.Preprocess,
		Features: t.X}
}

// onSynthetic is S as a graph to join arrivals to.
func (t *T) onSynthetic(s artifact.Synthetic) *deploy.Graph {
	return &deploy.Graph{Adj: s.Adj, X: preprocess.Ready(s.X), Labels: s.Labels, Classes: t.Classes(),
		Preprocess: t.Preprocess, Features: t.X}
}

// joint joins arrivals to T. It holds the projection of T's features, not the features.
func (t *T) joint(m infer.Model) *deploy.Deployment { return t.graph().Whole(m) }

// jointOnS joins arrivals to S through M.
func jointOnS(t *T, c *Result, m infer.Model) *deploy.Deployment {
	p := t.onSynthetic(c.Synthetic).Joint(m)
	p.Through, p.Slots, p.Kept = c.M, t.slots.Joined(), int64(condense.MappingBytes(c.M))
	return p
}

// frozen deploys by tables: of S through M, or T's own, which is Whole with each arrival joined alone.
func frozen(t *T, c *Result, m infer.Model) (*deploy.Deployment, error) {
	tables, err := c.Tables(m)
	if err != nil {
		return nil, err
	}
	p := deploy.Frozen(m, tables, t.Preprocess, func(kind string, alpha float32) (*infer.Tables, error) {
		return c.Propagation(kind, m, alpha)
	})
	p.Through, p.Slots, p.Kept = c.M, m.Architecture.Slots(t.slots), int64(condense.CachedBytes(tables))
	if p.Through != nil {
		p.Kept = int64(condense.MappingBytes(p.Through))
	}
	return p, nil
}

// place deploys a model on S with an attachment.
func place(t *T, r *Run, c *Result, m infer.Model, attachment string) (*deploy.Deployment, error) {
	switch {
	case c.rival != nil:
		return c.rival(m), nil
	case !c.has(attachment):
		return nil, fmt.Errorf("attachment is %s, which method %s does not have", attachment, r.Label())
	case attachment == artifact.AttachJoint:
		return jointOnS(t, c, m), nil
	}
	if err := infer.Freezable(m); err != nil {
		return nil, err
	}
	return frozen(t, c, m)
}
