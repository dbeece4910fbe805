package trainer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/infer/architecture"
	"rivulet/trainer/deploy"
	"rivulet/trainer/search"
)

// holder has T of a task, and does the steps that read all of its nodes. [inMemory] has T as a matrix; [tablesHolder]
// has it as tables of an engine, on disk or in Spark. A run does the rest itself, for both: see [task.run].
type holder interface {
	// fit returns W_O of a model.
	fit(ctx context.Context, name string, progress Progress) (*search.Result, error)
	// condense makes S and M for the fitted models of the options.
	condense(ctx context.Context, whole []*search.Result, progress Progress) (condensation, error)
	// own returns labelled nodes of T with their own features.
	own(ctx context.Context) (ownData, error)
	// deploy returns a model on T itself, and the kinds of propagation whose tables of T are at hand.
	deploy(f *search.Result) (p *deploy.Deployment, kinds []string, err error)
	// Neighbours returns the ids of the neighbours of nodes of the data, all or those in T, and how many there are in all.
	Neighbours(ctx context.Context, nodes []int32) (ids [][]string, degrees []int, err error)
}

// inMemory is the holder of a T that is in memory.
type inMemory struct{ *task }

func (h inMemory) fit(ctx context.Context, name string, progress Progress) (*search.Result, error) {
	return h.whole.fit(ctx, h.task, name, progress)
}

func (h inMemory) condense(ctx context.Context, whole []*search.Result, progress Progress) (condensation, error) {
	return h.condenseInMemory(ctx, whole, progress)
}

func (h inMemory) deploy(f *search.Result) (*deploy.Deployment, []string, error) {
	if h.directed() {
		p, err := h.frozen(h.itself(), f.Model)
		return p, nil, err
	}
	return h.jointOnT(f.Model), nil, nil
}

// requirement is an option that needs T in memory.
type requirement struct {
	option string
	set    func(o *Options) bool
	why    string
}

// requirements are the requirements of options; methods have theirs in their list.
var requirements = []requirement{
	{"representation", func(o *Options) bool { return o.Representation },
		"tables of features are added up over two hops of M"},
	{"indicators", func(o *Options) bool { return o.Indicators > 0 }, "clusters of all nodes stand beside their messages"},
	{"spread", func(o *Options) bool { return o.Spread }, "models are fitted to deviations from means in it"},
	{"models auto", func(o *Options) bool { return o.Choose }, "each model is condensed on its own"},
	{"means", func(o *Options) bool { return o.Means },
		"cluster means for later models are over all edges of three operators"},
}

// directedModel is the first of the models that reads directions; empty: none does.
func directedModel(o *Options) string {
	k := slices.IndexFunc(o.Models, func(name string) bool {
		a, err := architecture.Lookup(name)
		return err == nil && a.Directed()
	})
	if k < 0 {
		return ""
	}
	return o.Models[k]
}

// CheckStaged returns an error for options that need T in memory. It names the first.
func CheckStaged(o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	const not = "a run of stages (--engine disk, --sums fixed) does not hold"
	if m, _ := o.method(); !m.tables {
		return fmt.Errorf("method is %s, %s T in memory, which the method reads as a whole", o.Method, not)
	}
	if name := directedModel(&o); name != "" && !o.Choose {
		return fmt.Errorf("models has %s, %s T in memory: a mean for each direction is not a stage", name, not)
	}
	for _, r := range requirements {
		if r.set(&o) {
			return fmt.Errorf("%s is set, %s T in memory: %s", r.option, not, r.why)
		}
	}
	return nil
}

// servable returns an error if the run's method makes no artifact.
func (t *task) servable() error {
	if t.method.Comparison {
		return fmt.Errorf("method %s has no S and M to serve and makes no artifact: it is measured by eval", t.options.Method)
	}
	if t.options.Indicators > 0 && t.options.Method != MethodSolved {
		return fmt.Errorf("indicators is %g, which stands beside messages: want method %s, not %s", t.options.Indicators,
			MethodSolved, t.options.Method)
	}
	if t.options.Spread && t.directed() {
		return fmt.Errorf("spread is set, by which models are fitted on S (S→S), which %s", noDirections)
	}
	if t.options.Spread && !slices.Contains([]string{MethodSolved, MethodCluster}, t.options.Method) {
		return fmt.Errorf("spread is set, which is around clusters: want method %s or %s, not %s", MethodSolved,
			MethodCluster,
			t.options.Method)
	}
	return nil
}
