package trainer

import (
	"context"
	"maps"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/trainer/tables"
)

// Methods of condensation: docs/algorithm.md, sections 4 (learned, gcond), 5 (solved) and 7.
const (
	MethodSolved  = "solved"
	MethodLearned = "learned"
	MethodRandom  = "random"
	MethodDegree  = "degree"
	MethodHerding = "herding"
	MethodKCenter = "kcenter"
	MethodVNG     = "vng"
	MethodCluster = "cluster"
	MethodGCond   = "gcond"
	MethodCached  = "cached"
)

// method is a way to condense T.
type method struct {
	condense func(t *task, ctx context.Context, whole []*fitted, progress Progress) (*condensed, error)
	models   []string // what it can deploy; nil: every model
	// comparison says that there is no S and M to serve: the method is measured and makes no artifact.
	comparison bool
	// frozen says that M is made for frozen attachment, from the models' messages or tables.
	frozen bool
}

// methods by name. It is filled in init because the methods of its entries read it.
var methods map[string]method

func init() {
	methods = map[string]method{
		MethodSolved:  {condense: (*task).condenseSolved, frozen: true},
		MethodCluster: {condense: (*task).condenseClusters, frozen: true},
		MethodLearned: {condense: (*task).condenseLearned},
		MethodGCond:   {condense: (*task).condenseGCond, comparison: true},
		MethodRandom:  {condense: (*task).condenseRandom},
		MethodDegree:  {condense: (*task).condenseDegree},
		MethodHerding: {condense: (*task).condenseHerding},
		MethodKCenter: {condense: (*task).condenseKCenter},
		MethodVNG:     {condense: (*task).condenseVNG, models: []string{modelSGC}, frozen: true},
		MethodCached:  {condense: (*task).condenseNothing, comparison: true, frozen: true},
	}
}

// Methods are the names that [Options.Method] may have, in order.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// condensed is what a method makes of T: S and M, and how models get onto them. A nil part is one that the method does not
// have.
type condensed struct {
	synthetic  artifact.Synthetic // S; no Adj for cached
	rows       *graph.CSR         // M, N×N'; nil: deploys on T only
	attachment string             // what M was made for, "joint" or "frozen"
	// tables gives S the frozen tables of a model.
	tables func(m infer.Model) (*infer.Tables, error)
	// fitter gives S tables of anything that T has tables of, by least squares through M.
	fitter *tables.Fitter
	// means are what the artifact keeps of T for models that come later; nil where there are no clusters to take them of.
	means func() *artifact.Means
	// growth is what the artifact keeps for rows of M of arrivals; nil where there are no clusters' messages to solve them against.
	growth func() *artifact.Growth
	// features gives S the frozen tables of the features themselves, which a frozen linear model's embeddings are read of.
	features func(m infer.Model) (*infer.Tables, error)
	// fit fits W_S of a model on S.
	fit func(ctx context.Context, name string, progress Progress) (*fitted, error)
	// own makes S and M anew from W_S, so that nothing fitted on T is in them; nil where M hangs on no model.
	own func(ctx context.Context, small *fitted, progress Progress) (*condensed, error)
	// trace is what a learned run tells of itself.
	trace *Learned
}

// has says whether arrivals can be attached to it so.
func (c *condensed) has(attachment string) bool {
	switch {
	case attachment == artifact.AttachJoint:
		return c.rows != nil && c.synthetic.Adj != nil
	case c.rows != nil:
		return c.tables != nil
	}
	return c.synthetic.Adj == nil // cached: T's own tables
}
