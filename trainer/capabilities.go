package trainer

import (
	"cmp"
	"fmt"

	"rivulet/dataset"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
)

// Not every option can be had with every kind of data and every holder. What an option or a method cannot do stands in
// one row: of the table below, or of the list of methods. A run is refused by the first row that it does not fit.

// capability is an option that some runs refuse.
type capability struct {
	option string
	set    func(o *Options) bool
	// task is the capability that the data's task must have; nil: all have it.
	task *target.Capability
	// relations names the option where edges have types or directions, for which it has no form; empty: it has one.
	relations string
}

var capabilities = []capability{
	{option: "weights", set: func(o *Options) bool { return len(o.Weights) > 0 }, task: target.ImportWeights},
	{option: "representation", set: func(o *Options) bool { return o.Representation }, relations: "representation"},
	{option: "spread", set: func(o *Options) bool { return o.Spread }, task: target.Spread,
		relations: "a fit on S (S→S) with spread"},
	{option: "models auto", set: func(o *Options) bool { return o.Choose }, task: target.ModelChoice},
	{option: "coverage", set: func(o *Options) bool { return o.Coverage > 0 }, task: target.Abstention},
	{option: "own", set: func(o *Options) bool { return o.Own == OwnAlways },
		task: target.OwnExpert},
	{option: "map", set: func(o *Options) bool { return o.Map }, task: target.Map},
}

// check returns an error if the run's options do not fit its data.
func (o *Options) check(d *dataset.Dataset) error {
	of := d.Task
	if !of.Can(target.Relations) {
		if err := d.RequireNoRelations("task " + of.String()); err != nil {
			return err
		}
	}
	switch m, _ := o.method(); {
	case !m.targets && !of.Can(target.Method):
		return of.Require(target.Method, m.Name)
	case !m.relations:
		what := "method " + m.Name
		if err := cmp.Or(d.RequireNoRelations(what), d.RequireOneType(what)); err != nil {
			return err
		}
	}
	for _, name := range o.Models {
		if err := checkModel(d, name); err != nil {
			return err
		}
	}
	for _, c := range capabilities {
		if !c.set(o) {
			continue
		}
		if c.task != nil {
			if err := of.Require(c.task); err != nil {
				return err
			}
		}
		if c.relations != "" {
			if err := cmp.Or(d.RequireNoRelations(c.relations), d.RequireOneType(c.relations)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkModel returns an error for a model that does not read the data's edges, or does not do its task.
func checkModel(d *dataset.Dataset, name string) error {
	a, err := architecture.Lookup(name)
	switch {
	case err != nil:
		return err
	case a.Relational() && !d.Task.Can(target.RelatedModel):
		return d.Task.Require(target.RelatedModel, name)
	case (a.Mix == nil || !a.Linear()) && !d.Task.Can(target.LayeredModel):
		return d.Task.Require(target.LayeredModel, name)
	case a.Reads(&d.By):
		return nil
	case a.Typed():
		return fmt.Errorf("model %s reads the types of edges, which are not kept: --edge-type COLUMN keeps them", name)
	case !d.By.Relational():
		return fmt.Errorf("model %s reads the directions of edges, which are not kept: --directed keeps them", name)
	case d.By.Types != nil:
		return fmt.Errorf("model %s does not read the types of edges: want rsgc or rgcn in --models, or without "+
			"--edge-type all edges are of one", name)
	}
	return fmt.Errorf("model %s does not read the directions of edges: want dirsgc or dirsage in --models, "+
		"or without --directed each edge goes both ways", name)
}

// checkWeights returns an error if a run cannot carry weights of edges.
func (o *Options) checkWeights() error {
	if m, _ := o.method(); !m.weights {
		return fmt.Errorf("method %s does not read weights of edges, and the data have some; --drop-weights reads each as 1",
			m.Name)
	}
	for name, given := range o.Weights {
		if given.Architecture.Operator.Name == "sage" {
			return fmt.Errorf("weights of %s: PyTorch Geometric's SAGEConv takes the plain mean of the neighbours, "+
				"and the data have weights of edges; --drop-weights reads each as 1", name)
		}
	}
	return nil
}

// servable returns an error if the run's method makes no artifact, or not one with the run's options.
func (r *Run) servable() error {
	switch {
	case r.method.Comparison:
		return fmt.Errorf("method %s has no S and M to serve and makes no artifact: it is measured by eval", r.Method)
	case r.Spread && !r.method.clusters:
		return fmt.Errorf("spread is set, which is around clusters: want method %s or %s, not %s", MethodSolved,
			MethodCluster, r.Method)
	}
	return nil
}
