package trainer

import (
	"cmp"
	"context"
	"slices"

	"rivulet/infer"
)

// Names of the methods of this package: docs/algorithm.md, sections 5 (solved) and 7.
const (
	MethodSolved  = "solved"
	MethodCluster = "cluster"
	MethodCached  = "cached"
	// Rivals without S: rivals.go.
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

	weights   bool // it reads weights of edges
	relations bool // it condenses a T whose edges have types or directions
	targets   bool // it condenses, or measures, a T whose nodes have labels or numbers
	clusters  bool // its S is of clusters, which have a spread
}

// Condenser makes S and M of T; whole are W_O of the models of the run.
type Condenser func(ctx context.Context, t *T, h *Held, r *Run, whole []infer.Model) (*Result, error)

// methods are the methods of this package. The code of a method must not read the list: a run knows its own method.
var methods = []Method{
	{Name: MethodCached, Condense: condenseNothing, Comparison: true, Frozen: true, weights: true, relations: true,
		targets: true},
	{Name: MethodCluster, Condense: clusters(membershipRows), Frozen: true, weights: true, relations: true,
		clusters: true},
	{Name: MethodEvidence, Condense: rival(fitEvidence), Comparison: true, weights: true},
	{Name: MethodGLNN, Condense: rival(fitGLNN), Comparison: true, weights: true},
	{Name: MethodLogreg, Condense: rival(fitLogreg), Comparison: true, weights: true},
	{Name: MethodMLP, Condense: rival(fitMLP), Comparison: true, weights: true},
	{Name: MethodSolved, Condense: clusters(solveRows), Frozen: true, weights: true, relations: true,
		targets: true, clusters: true},
}

// Methods returns the names that [Options.Method] may have with more methods, in order.
func Methods(more []Method) (names []string) {
	for _, m := range slices.Concat(methods, more) {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// ArtifactMethods returns the names of the methods that make artifacts, in order: all but comparisons.
func ArtifactMethods(more []Method) []string {
	return slices.DeleteFunc(Methods(more), func(name string) bool {
		m, _ := (&Options{Method: name, More: more}).method()
		return m.Comparison
	})
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
