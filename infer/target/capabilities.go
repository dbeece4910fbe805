package target

import (
	"fmt"
	"slices"
)

// Capability is something that a run, a consumer or a command can do with models of some tasks.
type Capability struct {
	text string // names it in errors
	of   []Task // tasks that have it
}

// This is the table of what can be done with a task. Whoever is about to do it asks [Task.Require], or [Task.Can] where
// it is left out without a word.
var (
	// Training.
	ImportWeights = capability("importing weights")
	Spread        = capability("a fit with spread (--spread)")
	ModelChoice   = capability("a choice among models (--models auto)")
	Abstention    = capability("abstention (--coverage)", Labels)
	OwnExpert     = capability("the expert of own features (--own always)")
	Map           = capability("the map (--map)")
	NoValidation  = capability("training without validation nodes", Labels)
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
	GrowthStudy  = capability("the study of growth")
	MissingStudy = capability("the study of missing edges")
	SavingTables = capability("saving as tables")
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
	c := &Capability{text, of}
	all = append(all, c)
	return c
}

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
