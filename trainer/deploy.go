package trainer

import (
	"fmt"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/trainer/condense"
	"rivulet/trainer/deploy"
)

// onOriginal is T as a graph to join arrivals to.
func (t *task) onOriginal() *deploy.Graph {
	return &deploy.Graph{Adj: t.original.Adj, X: t.inputs, Labels: t.original.Labels, Classes: t.classes(),
		Preprocess: t.pre, Features: t.original.X}
}

// onSynthetic is S as a graph to join arrivals to.
func (t *task) onSynthetic(s artifact.Synthetic) *deploy.Graph {
	return &deploy.Graph{Adj: s.Adj, X: preprocess.Ready(s.X), Labels: s.Labels, Classes: t.classes(), Preprocess: t.pre,
		Features: t.original.X}
}

// jointOnT joins arrivals to T. It holds the projection of T's features, not the features.
func (t *task) jointOnT(m infer.Model) *deploy.Deployment { return t.onOriginal().Whole(m) }

// jointOnS joins arrivals to S through M.
func (t *task) jointOnS(c condensation, m infer.Model) *deploy.Deployment {
	s, through := t.onSynthetic(c.parts().Synthetic), c.parts().M
	p := s.Joint(m)
	p.Through, p.Kept = through, int64(condense.MappingBytes(through))
	return p
}

// frozen deploys by tables: of S through M, or T's own, which is Whole with each arrival joined alone.
func (t *task) frozen(c condensation, m infer.Model) (*deploy.Deployment, error) {
	tables, err := c.tables(m)
	if err != nil {
		return nil, err
	}
	p := deploy.Frozen(m, tables, t.pre, func(kind string, alpha float32) (*infer.Tables, error) {
		return c.propagation(kind, m, alpha)
	})
	p.Through, p.Bins, p.Kept = c.parts().M, m.Architecture.Bins(t.bins), int64(condense.CachedBytes(tables))
	if p.Through != nil {
		p.Kept = int64(condense.MappingBytes(p.Through))
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
		return t.jointOnS(c, m), nil
	}
	if err := infer.Freezable(m); err != nil {
		return nil, err
	}
	return t.frozen(c, m)
}
