package trainer

import (
	"context"

	"rivulet/artifact"
	"rivulet/infer"
	"rivulet/trainer/condense"
)

// cachedTables is the method cached: T's own tables, with which M is compared (docs/algorithm.md, section 7). It is
// also the way in which a model is frozen on T.
type cachedTables struct {
	*task
	graphParts
}

func (t *task) condenseNothing(ctx context.Context, _ []*fitResult, _ Progress) (condensation, error) {
	return t.itself(), ctx.Err()
}

// itself returns T as its own condensed graph.
func (t *task) itself() *cachedTables {
	return &cachedTables{t, graphParts{Condensation: &condense.Condensation{Attachment: artifact.AttachFrozen}}}
}

func (u *cachedTables) tables(m infer.Model) (*infer.Tables, error) {
	return m.Tables(u.original.Adj, u.inputs), nil
}

func (u *cachedTables) propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error) {
	return u.propagationOnT(kind, m, alpha), nil
}

// propagationOnT returns T's own frozen tables of label or error propagation.
func (t *task) propagationOnT(kind string, m infer.Model, alpha float32) *infer.Tables {
	return infer.PropagationTables(t.original.Adj, t.seeds(kind, m), alpha)
}
