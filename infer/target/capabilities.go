package target

import (
	"fmt"
	"slices"
	"strings"
)

// Capability is something that a run, a consumer or a command can do with models of some tasks.
type Capability struct {
	text string // names it in errors
	of   []Task // tasks that have it
	// reads are the kinds of data that it reads.
	reads Reads
}

// This is the table of what can be done with a task. Whoever is about to do it asks [Task.Require], or [Task.Can] where
// it is left out without a word.
var (
	// Training.
	ImportWeights  = capability("importing weights")
	Spread         = capability("a fit with spread (--spread, S→S)").only(ReadsWeights)
	ModelChoice    = capability("a choice among models (--models auto)")
	Abstention     = capability("abstention (--coverage)", Labels)
	OwnExpert      = capability("the expert of own features (--own always)")
	Representation = NewCapability("representation", ReadsWeights, Tasks()...)
	Map            = capability("the map (--map)")
	NoValidation   = capability("training without validation nodes", Labels)
	// Method is one that reads the classes of T's nodes; the others have every task.
	Method = capability("method")
	// LayeredModel is one with hidden layers, RelatedModel one that reads types or directions of edges.
	LayeredModel = capability("model", Labels)
	RelatedModel = capability("model")
	Relations    = capability("edges with types or directions")
	HeldOutEdges = listed("--held-out", Links)
	// Comparing a model's answers with those of the whole graph, node by node, and with the most frequent class.
	Comparison = capability("a comparison of classes")

	// Propagation of labels or errors, as a calibration.
	Propagation = capability("calibration")

	// Commands and studies.
	GrowthStudy  = capability("the study of growth").only(0)
	MissingStudy = capability("the study of missing edges").only(0)
	SavingTables = capability("saving as tables").only(0)
	Leaks        = capability("the measurement of columns that tell the class")
	Demo         = capability("the demonstration")
	SendLabels   = capability("sending labels (--labels)", Labels, Number)
	ListFlag     = capability("--top-k", Labels, Links)
	RowFlag      = capability("--probabilities", Labels)

	// Serving.
	Explanation     = capability("an explanation")
	OutputExplain   = capability("output.explain")
	JointAttachment = capability("attachment joint", Labels, Number)
	Coverage        = capability("output.coverage", Labels)
	TopK            = capability("output.top_k", Labels, Links)
	Probabilities   = capability("output.probabilities", Labels)
	LabelsTopic     = capability("labels.topic", Labels)
	Page            = capability("the page")
)

// all has each capability, from which docs/tasks.md lists them.
var all []*Capability

// capability is one of classes, and of some tasks beside them.
func capability(text string, beside ...Task) *Capability {
	return listed(text, append([]Task{Classes}, beside...)...)
}

func listed(text string, of ...Task) *Capability {
	c := NewCapability(text, ReadsWeights|ReadsRelations|ReadsNodeTypes, of...)
	all = append(all, c)
	return c
}

// NewCapability returns a capability of some tasks that reads some kinds of data.
func NewCapability(text string, reads Reads, of ...Task) *Capability {
	return &Capability{text, of, reads}
}

// only leaves a capability some kinds of data that it reads.
func (c *Capability) only(reads Reads) *Capability {
	c.reads = reads
	return c
}

// Reads are the kinds of data that a capability reads beside edges of weight 1 and one type of nodes, as bits.
type Reads uint8

// Kinds of data.
const (
	ReadsWeights   Reads = 1 << iota // of edges
	ReadsRelations                   // types and directions of edges
	ReadsNodeTypes                   // nodes of several types
)

// Data is what is known of data for [Capability.Check]: the task, and what edges and nodes have.
type Data struct {
	Task                                  Task
	Weights, Types, Directions, NodeTypes bool
}

// Check returns an error where the task does not have a capability, or the capability does not read something that the
// data have. The name is as of [Task.Require].
func (c *Capability) Check(d Data, name ...string) error {
	if err := d.Task.Require(c, name...); err != nil {
		return err
	}
	text := strings.Join(append([]string{c.text}, name...), " ")
	if d.Weights && c.reads&ReadsWeights == 0 {
		return fmt.Errorf("edges have weights, which %s does not read; --drop-weights reads each as 1", text)
	}
	if c.reads&ReadsRelations == 0 {
		if err := d.requireNoRelations(text); err != nil {
			return err
		}
	}
	if d.NodeTypes && c.reads&ReadsNodeTypes == 0 {
		return fmt.Errorf("nodes are of several types (a table for each), which %s does not read", text)
	}
	return nil
}

// Check returns an error where the task is not had with the types or directions of the edges.
func (d Data) Check() error {
	if d.Task.Can(Relations) {
		return nil
	}
	return d.requireNoRelations("task " + d.Task.String())
}

func (d Data) requireNoRelations(what string) error {
	switch {
	case d.Types:
		return fmt.Errorf("edges have types, which %s does not read; without --edge-type all are of one", what)
	case d.Directions:
		return fmt.Errorf("edges have directions, which %s does not read; without --directed each goes both ways", what)
	}
	return nil
}

// Tasks are those that have the capability.
func (c *Capability) Tasks() []Task { return slices.Clone(c.of) }

// String names the capability.
func (c *Capability) String() string { return c.text }

// Can reports whether models of the task have a capability.
func (t Task) Can(c *Capability) bool { return slices.Contains(c.of, t) }

// Require returns an error where models of the task do not have a capability. The name is that of a method, a model or
// a calibration, which the capability is one of.
func (t Task) Require(c *Capability, name ...string) error {
	if t.Can(c) {
		return nil
	}
	text := c.text
	for _, of := range name {
		text += " " + of
	}
	return fmt.Errorf("the task is %s, and %s is for %s only (docs/tasks.md)", t, text,
		names(c.of))
}
