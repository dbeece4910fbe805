package trainer

import (
	"fmt"
	"strings"

	"rivulet/dataset"
	"rivulet/infer/architecture"
	"rivulet/infer/target"
)

// Not every option can be had with every kind of data and every method. What is refused is decided here, from tables:
// that of package target says which tasks have a capability and what it reads of edges and nodes, the list of methods
// what a method reads, an architecture what a model reads. A run is refused by the first row that it does not fit.

// dataOption is an option that some data refuse.
type dataOption struct {
	name       string
	set        func(o *Options) bool
	capability *target.Capability
	// validation says that it is chosen by validation nodes, and needs some.
	validation bool
}

var dataOptions = []dataOption{
	{"weights", func(o *Options) bool { return len(o.Weights) > 0 }, target.ImportWeights, false},
	{"representation", func(o *Options) bool { return o.Representation }, target.Representation, false},
	{"spread", func(o *Options) bool { return o.Spread }, target.Spread, false},
	{"coverage", func(o *Options) bool { return o.Coverage > 0 }, target.Abstention, true},
	{"own always", func(o *Options) bool { return o.Own == OwnAlways }, target.OwnExpert, true},
	{"models auto", func(o *Options) bool { return o.Choose }, target.ModelChoice, true},
	{"map", func(o *Options) bool { return o.Map }, target.Map, false},
}

// capability is what a method reads: its row of the list of methods.
func (m *Method) capability() *target.Capability {
	reads, tasks := target.Reads(0), target.Method.Tasks()
	if m.weights {
		reads |= target.ReadsWeights
	}
	if m.relations {
		reads |= target.ReadsRelations | target.ReadsNodeTypes
	}
	if m.targets {
		tasks = target.Tasks()
	}
	return target.NewCapability("method "+m.Name, reads, tasks...)
}

// check returns an error if the run's options do not fit its data.
func (o *Options) check(d *dataset.Dataset) error {
	of := d.Facts()
	if err := of.Check(); err != nil {
		return err
	}
	m, _ := o.method()
	if err := m.capability().Check(of); err != nil {
		return err
	}
	for _, name := range o.Models {
		if err := checkModel(d, name); err != nil {
			return err
		}
	}
	for _, c := range dataOptions {
		if c.set(o) {
			if err := c.capability.Check(of); err != nil {
				return err
			}
		}
	}
	for name, given := range o.Weights {
		if of.Weights && given.Architecture.Operator != nil && given.Architecture.Operator.Name == "sage" {
			return fmt.Errorf("weights of %s: PyTorch Geometric's SAGEConv takes the plain mean of the neighbours, "+
				"and the data have weights of edges; --drop-weights reads each as 1", name)
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

// checkUnvalidated returns an error if a run needs validation nodes, of which the data have none.
func (o *Options) checkUnvalidated(d *dataset.Dataset) error {
	need := func(what string) error {
		return fmt.Errorf("no validation nodes: %s needs some: label a part of the nodes val, and the others train", what)
	}
	if !d.Task.Can(target.NoValidation) {
		return need("task " + d.Task.String())
	}
	for _, c := range dataOptions {
		if c.validation && c.set(o) {
			return need(c.name)
		}
	}
	return nil
}

// checkArtifact returns an error if the run's method makes no artifact, or not one with the run's options.
func (o *Options) checkArtifact() error {
	switch m, _ := o.method(); {
	case m.Comparison:
		return fmt.Errorf("method %s has no S and M to serve and makes no artifact: it is measured by eval", o.Method)
	case o.Spread && !m.clusters:
		return fmt.Errorf("spread is set, which is around clusters: want method %s or %s, not %s", MethodSolved,
			MethodCluster, o.Method)
	}
	return nil
}

// checkDepth checks the numbers of layers and hops, which some of the models must read.
func (o *Options) checkDepth() error {
	deep, hopping := o.Layers == 0, o.Hops == 0
	for _, name := range o.Models {
		a, err := architecture.Lookup(name)
		if err != nil {
			return err
		}
		if a.Deepens() && o.Layers > 0 {
			deep = true
			if o.Layers < a.Fewest || o.Layers > a.Most {
				return fmt.Errorf("layers is %d, %s has %d to %d", o.Layers, name, a.Fewest, a.Most)
			}
		}
		hopping = hopping || a.Hops > 0
	}
	switch {
	case !deep:
		return fmt.Errorf("layers is %d, which none of %s has a choice of", o.Layers, strings.Join(o.Models, ", "))
	case !hopping:
		return fmt.Errorf("hops is %d, which none of %s has a choice of", o.Hops, strings.Join(o.Models, ", "))
	case o.Hops > architecture.MaxHops:
		return fmt.Errorf("hops is %d, want at most %d", o.Hops, architecture.MaxHops)
	}
	return nil
}
