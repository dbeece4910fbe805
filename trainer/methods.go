package trainer

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/infer"
	"rivulet/trainer/condense"
	"rivulet/trainer/plane"
	"rivulet/trainer/search"
	"rivulet/trainer/tables"
)

// Names of the methods of this package: docs/algorithm.md, sections 5 (solved) and 7.
const (
	MethodSolved  = "solved"
	MethodCluster = "cluster"
	MethodCached  = "cached"
	// Rivals without S: see [rivals].
	MethodLogreg   = "logreg"
	MethodMLP      = "mlp"
	MethodGLNN     = "glnn"
	MethodEvidence = "evidence"
)

// Method is a way to condense T. Others than those of this package are in [Options].More.
type Method struct {
	Name string
	// Label is the method's name in results; empty: Name.
	Label string
	// Condense makes S and M of a T in memory.
	Condense Condenser
	// Models are those that the method can deploy; nil: every model.
	Models []string
	// Comparison says that the method has no S and M to serve: it is only measured.
	Comparison bool
	// Frozen says that M is made for frozen attachment, from the models' messages or tables.
	Frozen bool

	relations bool  // it condenses a T whose edges have types or directions
	targets   bool  // it condenses, or measures, a T whose nodes have labels or numbers
	make      maker // of a method of this package, in place of Condense
}

// maker makes S and M; whole are W_O of the models of the run.
type maker func(t *task, ctx context.Context, whole []*search.Result, progress Progress) (condensation, error)

// methods are the methods of this package. The code of a method must not read the list: a task knows its own method.
var methods = []Method{
	{Name: MethodCached, make: (*task).condenseNothing, Comparison: true, Frozen: true, relations: true, targets: true},
	{Name: MethodCluster, make: clusters(membershipRows), Frozen: true, relations: true},
	{Name: MethodEvidence, make: rival((*task).fitEvidence), Comparison: true},
	{Name: MethodGLNN, make: rival((*task).fitGLNN), Comparison: true},
	{Name: MethodLogreg, make: rival((*task).fitLogreg), Comparison: true},
	{Name: MethodMLP, make: rival((*task).fitMLP), Comparison: true},
	{Name: MethodSolved, make: clusters(solveRows), Frozen: true, relations: true, targets: true},
}

// Methods returns the names that [Options.Method] may have with more methods, in order.
func Methods(more []Method) (names []string) {
	for _, m := range slices.Concat(methods, more) {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// method returns the method of a run; known reports whether there is one of its name.
func (o *Options) method() (m Method, known bool) {
	all := slices.Concat(methods, o.More)
	at := slices.IndexFunc(all, func(m Method) bool { return m.Name == o.Method })
	if at < 0 {
		return Method{}, false
	}
	return all[at], true
}

// Label returns the method's name in results.
func (o *Options) Label() string {
	m, _ := o.method()
	return cmp.Or(m.Label, o.Method)
}

// Deployable returns the models that the run's method can deploy, or all of them if it can deploy none, which
// becomes an error later.
func (o *Options) Deployable() []string {
	m, _ := o.method()
	no := func(name string) bool { return !slices.Contains(m.Models, name) }
	if some := slices.DeleteFunc(slices.Clone(o.Models), no); len(some) > 0 {
		return some
	}
	return o.Models
}

// condenseInMemory makes S and M by the task's method.
func (t *task) condenseInMemory(ctx context.Context, whole []*search.Result, progress Progress) (condensation, error) {
	if t.method.make != nil {
		return t.method.make(t, ctx, whole, progress)
	}
	r, err := t.method.Condense(ctx, t.graph(whole), progress)
	if err != nil {
		return nil, err
	}
	if r.Tables == nil {
		return t.onGraph(r.Condensation), nil
	}
	fitter, err := tables.NewFitter(r.M, t.meeting)
	return &tabledGraph{t, graphParts{Condensation: r.Condensation}, r, fitter}, err
}

// condensation is a method's result: S and M, and models on them. Capabilities of only some methods are the
// interfaces below.
type condensation interface {
	// parts returns S and M.
	parts() *graphParts
	// tables returns S's frozen tables of a model.
	tables(m infer.Model) (*infer.Tables, error)
	// propagation returns S's frozen tables of a kind of propagation at one α, for a model.
	propagation(kind string, m infer.Model, alpha float32) (*infer.Tables, error)
}

// modelFitter is a condensed graph on which models can be fitted.
type modelFitter interface {
	// fit fits W_S of a model on S.
	fit(ctx context.Context, name string, progress Progress) (*search.Result, error)
}

// labelFitter is a condensed graph that has soft labels for the fit of models.
type labelFitter interface {
	// fitLabels fits W_S of a model to them.
	fitLabels(ctx context.Context, name string, progress Progress) (*search.Result, error)
}

// spreader is a condensed graph that measures how T's labelled nodes lie around S, by which S teaches an SGC.
type spreader interface {
	spread(ctx context.Context, progress Progress) (*artifact.Spread, error)
}

// mappingRenewer is a condensed graph whose M depends on models.
type mappingRenewer interface {
	// renew makes S and M anew from W_S, so that nothing fitted on T is in them.
	renew(ctx context.Context, small *search.Result, progress Progress) (condensation, error)
}

// growable is a condensed graph that has tables for rows of M of arrivals.
type growable interface {
	growth() *artifact.Growth
}

// featureTables is a condensed graph that has frozen tables of the features themselves, from which a frozen linear
// model's embeddings are read.
type featureTables interface {
	features(m infer.Model) (*infer.Tables, error)
}

// graphParts are S and M.
type graphParts struct {
	*condense.Condensation // no Adj for cached
	// stored gives all rows of M if they lie in tables; M then has only the rows of the nodes that the run reads. nil: M
	// is whole.
	stored iter.Seq2[plane.Rows, error]
	size   artifact.MappingInfo // of the stored M
}

// rows gives all rows of M, for some nodes of T at a time. original are T's nodes if M is whole.
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
	return artifact.MappingInfo{Rows: m.M.Rows, Entries: m.M.NNZ(), MaxPerRow: m.M.LongestRow()}
}

func (m *graphParts) parts() *graphParts { return m }

// has reports whether arrivals can be attached this way.
func (m *graphParts) has(attachment string) bool {
	if attachment == artifact.AttachJoint {
		return m.M != nil && m.Adj != nil
	}
	return m.M != nil || m.Adj == nil // cached: T's own tables
}
