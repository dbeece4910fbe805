package trainer

import (
	"context"
	"iter"
	"slices"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/plane"
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
	// Rivals without S: see [rivals].
	MethodLogreg   = "logreg"
	MethodMLP      = "mlp"
	MethodGLNN     = "glnn"
	MethodEvidence = "evidence"
)

// maker makes S and M; whole are W_O of the models of the run.
type maker func(t *task, ctx context.Context, whole []*fitResult, progress Progress) (condensation, error)

// method is a way to condense T.
type method struct {
	name     string
	condense maker
	models   []string // what it can deploy; nil: every model
	// comparison says that the method has no S and M to serve: it is only measured.
	comparison bool
	// frozen says that M is made for frozen attachment, from the models' messages or tables.
	frozen bool
	// tables says that the method makes S and M also where T lies in tables of stages. Others need T in memory.
	tables bool
}

// methods lists all methods by name. Code of a method must not read the list: a task knows its own method.
var methods = []method{
	{name: MethodCached, condense: (*task).condenseNothing, comparison: true, frozen: true},
	{name: MethodCluster, condense: clusters(membershipRows), frozen: true},
	{name: MethodDegree, condense: coreset(condense.Degree)},
	{name: MethodEvidence, condense: rival((*task).neighboursEvidence), comparison: true},
	{name: MethodGCond, condense: (*task).condenseGCond, comparison: true},
	{name: MethodGLNN, condense: rival((*task).distilled), comparison: true},
	{name: MethodHerding, condense: coreset(condense.Herding)},
	{name: MethodKCenter, condense: coreset(condense.KCenter)},
	{name: MethodLearned, condense: (*task).condenseLearned},
	{name: MethodLogreg, condense: rival((*task).regression), comparison: true},
	{name: MethodMLP, condense: rival((*task).perceptron), comparison: true},
	{name: MethodRandom, condense: coreset(condense.Random)},
	{name: MethodSolved, condense: clusters(solveRows), frozen: true, tables: true},
	{name: MethodVNG, condense: (*task).condenseVNG, models: []string{modelSGC}, frozen: true},
}

// Methods returns the names that [Options.Method] may have, in order.
func Methods() []string {
	var names []string
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// methodOf returns the method with a name; known reports whether there is one.
func methodOf(name string) (m method, known bool) {
	at := slices.IndexFunc(methods, func(m method) bool { return m.name == name })
	if at < 0 {
		return method{}, false
	}
	return methods[at], true
}

// condensation is a method's result: S and M, and models on them. Capabilities of only some methods are the
// interfaces below.
type condensation interface {
	// parts returns S and M.
	parts() *graphParts
	// tables returns S's frozen tables of a model.
	tables(m infer.Model) (*infer.Tables, error)
	// propagation returns S's frozen tables of label or error propagation at one α, for a model.
	propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error)
}

// modelFitter is a condensed graph on which models can be fitted.
type modelFitter interface {
	// fit fits W_S of a model on S.
	fit(ctx context.Context, name string, progress Progress) (*fitResult, error)
}

// mappingRenewer is a condensed graph whose M depends on models.
type mappingRenewer interface {
	// renew makes S and M anew from W_S, so that nothing fitted on T is in them.
	renew(ctx context.Context, small *fitResult, progress Progress) (condensation, error)
}

// growable is a condensed graph that has tables for rows of M of arrivals.
type growable interface {
	growth() *artifact.Growth
}

// meansSource is a condensed graph that has the cluster means of T, for models that are added later.
type meansSource interface {
	means() *artifact.Means
}

// featureTables is a condensed graph that has frozen tables of the features themselves, from which a frozen linear
// model's embeddings are read.
type featureTables interface {
	features(m infer.Model) (*infer.Tables, error)
}

// graphParts are S and M.
type graphParts struct {
	*condense.Condensation                // no Adj for cached
	trace                  *LearnedCourse // what a learned run tells of itself; nil otherwise
	// stored gives all rows of M where they lie in tables; M has those of the nodes that the run reads then. nil: M is
	// whole.
	stored iter.Seq2[plane.Rows, error]
	size   artifact.MappingInfo // of M that is stored
}

// rows gives all rows of M, those of some nodes of T at a time. original are T's nodes where M is whole.
func (m *graphParts) rows(original *dataset.Original) iter.Seq2[plane.Rows, error] {
	if m.stored != nil {
		return m.stored
	}
	return func(yield func(plane.Rows, error) bool) {
		yield(plane.Rows{Mapping: &artifact.Mapping{IDs: original.IDs, Rows: m.M}, Labels: original.Labels}, nil)
	}
}

// info returns the size of M.
func (m *graphParts) info() artifact.MappingInfo {
	if m.stored != nil {
		return m.size
	}
	return artifact.MappingInfo{Rows: m.M.Rows, Entries: m.M.NNZ(), MaxPerRow: longestRow(m.M)}
}

func (m *graphParts) parts() *graphParts { return m }

// has reports whether arrivals can be attached this way.
func (m *graphParts) has(attachment string) bool {
	if attachment == artifact.AttachJoint {
		return m.M != nil && m.Adj != nil
	}
	return m.M != nil || m.Adj == nil // cached: T's own tables
}
