package trainer

import (
	"context"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/trainer/condense"
)

// uncondensed is the method cached: T's own tables, with which M is compared (docs/algorithm.md, section 7). It is
// also the way in which a model is frozen on T.
type uncondensed struct {
	*task
	graphParts
}

func (t *task) condenseNothing(ctx context.Context, _ []*fitResult, _ Progress) (condensed, error) {
	return t.itself(), ctx.Err()
}

// itself returns T as its own condensed graph.
func (t *task) itself() *uncondensed {
	return &uncondensed{t, graphParts{Condensed: &condense.Condensed{Attachment: artifact.AttachFrozen}}}
}

func (u *uncondensed) tables(m infer.Model) (*infer.Tables, error) {
	return m.Tables(u.original.Adj, u.inputs), nil
}

func (u *uncondensed) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return u.propagationOnT(kind, m, alpha), nil
}

// propagationOnT returns T's own frozen tables of label or error propagation.
func (t *task) propagationOnT(kind string, m infer.Model, alpha float32) *infer.Tables {
	return infer.PropagationTables(t.original.Adj, t.seeds(kind, m), alpha)
}
