// Package target says what a model predicts of a node: its task. A task is a value with few verbs, which the data, the
// fits, the scores and the predictions share. It knows nothing of graphs.
package target

import (
	"fmt"
	"slices"
)

// Task is what a model predicts of a node.
type Task string

const (
	// Classes is one of several classes for each node: softmax, cross-entropy, accuracy.
	Classes Task = ""
	// Number is one number or several for each node, the outputs: ridge regression, R² and mean absolute error. What
	// would be a logit is the number itself.
	Number Task = "number"
)

// Interval is the share of nodes, in percent, whose number is to lie within the interval of its prediction.
const Interval = 90

// names are the tasks as users write them.
var names = map[string]Task{"": Classes, "classes": Classes, "number": Number}

// Parse returns the task of a name; an empty name is classes.
func Parse(name string) (Task, error) {
	t, ok := names[name]
	if !ok {
		return Classes, fmt.Errorf("task is %.40q, want classes or number", name)
	}
	return t, nil
}

// String is the name that users write.
func (t Task) String() string {
	if t == Classes {
		return "classes"
	}
	return string(t)
}

// Known reports whether this build knows the task.
func (t Task) Known() bool { return slices.Contains([]Task{Classes, Number}, t) }

// Require returns an error where a capability works for classes alone and the task is another one.
func (t Task) Require(capability string) error {
	if t == Classes {
		return nil
	}
	return fmt.Errorf("the task is %s, and %s is for classes only (docs/tasks.md)", t, capability)
}
