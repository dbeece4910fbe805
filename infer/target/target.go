// Package target says what a model predicts of a node: its task. A task is a value with few verbs, which the data, the
// fits, the scores and the predictions share. It knows nothing of graphs.
//
//	task      a node's label           a logit becomes               judged by
//	classes   one of several classes   a probability, by softmax     accuracy
//	labels    any of several labels    a probability, by sigmoid     micro and macro F1, mean average precision
//	number    a number an output       the number itself             R² and mean absolute error
//	links     its neighbours           a coordinate of the embedding the rank of neighbours that were held out
//
// Files: target.go has tasks and their verbs, f1.go counts of labels, capabilities.go the table of parts that know
// other tasks than classes.
package target

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Task is the kind of a prediction: a class, labels, numbers or links.
type Task string

const (
	// Classes is one of several classes for each node.
	Classes Task = ""
	// Labels is any number of several labels for each node, each apart from the others.
	Labels Task = "labels"
	// Number is one number or several for each node, the outputs.
	Number Task = "number"
	// Links are the candidates that each node will be linked to. The model computes an embedding, whose dot products with
	// the candidates' vectors are their scores.
	Links Task = "links"
)

// Interval is the share of nodes, in percent, whose number is to lie within the interval of its prediction.
const Interval = 90

// Mark stands between the names of several labels in one text, so that no label has it in its name. Alone it says that
// a node has none of the labels.
const Mark = ";"

// tasks are the tasks that this build knows.
var tasks = []Task{Classes, Labels, Number, Links}

// Parse returns the task of a name; an empty name is classes.
func Parse(name string) (Task, error) {
	for _, t := range tasks {
		if name == t.String() || name == string(t) {
			return t, nil
		}
	}
	return Classes, fmt.Errorf("task is %.40q, want classes, labels, number or links", name)
}

// String is the name that users write.
func (t Task) String() string {
	if t == Classes {
		return "classes"
	}
	return string(t)
}

// Known reports whether this build knows the task.
func (t Task) Known() bool { return slices.Contains(tasks, t) }

// Outputs names what the columns of an answer stand for.
func (t Task) Outputs() string {
	switch t {
	case Number:
		return "outputs"
	case Links:
		return "coordinates"
	}
	return t.String()
}

// Regression reports whether the outputs of a model are fitted to numbers by least squares and used as they are, so
// that they have neither probabilities nor a confidence.
func (t Task) Regression() bool { return t == Number || t == Links }

// Has reports whether a node is said to have a label of a probability.
func Has(probability float32) bool { return probability >= 0.5 }

// Probability returns the probability of a label: the sigmoid of its logit, with a temperature above 0.
func Probability(logit, temperature float32) float32 {
	return float32(1 / (1 + math.Exp(-float64(logit)/float64(temperature))))
}

// Confidence is the probability that an answer's most probable class is right, given the probabilities of all. Of
// labels it is the share of the labels for which the answer is expected to be right: of 0.9, 0.2 and 0.5, the mean of
// 0.9, 0.8 and 0.5. It is 0 for a task without probabilities.
func (t Task) Confidence(probabilities []float32) float32 {
	switch t {
	case Classes:
		return slices.Max(probabilities)
	case Labels:
		sum := float32(0)
		for _, p := range probabilities {
			sum += max(p, 1-p)
		}
		return sum / float32(len(probabilities))
	}
	return 0
}

// Require returns an error where the task does not have a capability, which it names.
func (t Task) Require(capability string) error {
	if t == Classes || slices.Contains(capabilities[capability], t) {
		return nil
	}
	known := []string{Classes.String()}
	for _, other := range capabilities[capability] {
		known = append(known, other.String())
	}
	return fmt.Errorf("the task is %s, and %s is for %s only (docs/tasks.md)", t, capability, strings.Join(known, " and "))
}
