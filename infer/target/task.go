package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rivulet/graph"
)

// Task names what a model predicts of a node: a class, labels, numbers or links. The zero value is [Classes]. A task
// that this build does not know cannot be a value.
type Task struct{ of rules }

var (
	// Classes is one of several classes for each node.
	Classes = Task{}
	// Labels is any number of several labels for each node, each apart from the others.
	Labels = Task{labels{}}
	// Number is one number or several for each node, the outputs.
	Number = Task{number{}}
	// Links are the candidates that each node will be linked to. The model computes an embedding, whose dot products with
	// the candidates' vectors are their scores.
	Links = Task{links{}}
)

// Tasks are the tasks that this build knows.
func Tasks() []Task { return []Task{Classes, Labels, Number, Links} }

// rules are the parts of a task. [Task] says what each of them is for.
type rules interface {
	name() string
	outputs() string
	group() string
	truth() Truth
	fitted() Fit
	regression() bool
	groups(present, outputs int) int

	loss(logits, targets *graph.Dense, share []float32) float64
	units(targets *graph.Dense) []float64

	probabilities(dst, logits []float32, temperature float32, each []float32)
	decode(a *Answer, row []float32, radius []float64)
	class(row []float32) int
	events(row []float32, class int32, truth []float32, add func(probability float32, is bool))
	right(row []float32, class int32, truth []float32) float64
	shares(shares []float64, probabilities []*graph.Dense) (confidence float64)

	metrics() []Metric
	score(a *Answers) []Score
	summary(s *Summary) string
}

func (t Task) rules() rules {
	if t.of == nil {
		return classes{}
	}
	return t.of
}

// Equal reports whether two tasks are the same one. It is ==, for those who compare by reflection.
func (t Task) Equal(other Task) bool { return t == other }

// ErrUnknown is wrapped by the error of a name that is no task.
var ErrUnknown = errors.New("which this build does not know")

// Parse returns the task of a name; an empty name is classes.
func Parse(name string) (Task, error) {
	var names []string
	for _, t := range Tasks() {
		if names = append(names, t.String()); name == t.String() || name == "" {
			return t, nil
		}
	}
	last := len(names) - 1
	return Task{}, fmt.Errorf("task is %.40q, want %s or %s", name, strings.Join(names[:last], ", "), names[last])
}

// MarshalText writes the name.
func (t Task) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name.
func (t *Task) UnmarshalText(name []byte) (err error) {
	if *t, err = Parse(string(name)); err != nil {
		err = fmt.Errorf("task is %.40q, %w", name, ErrUnknown)
	}
	return err
}

// String is the name that users write.
func (t Task) String() string { return t.rules().name() }

// Outputs names what the columns of an answer stand for.
func (t Task) Outputs() string { return t.rules().outputs() }

// Group names the task's scores among others: "labels".
func (t Task) Group() string { return t.rules().group() }

// Truth is the form in which data hold what is true of a node.
func (t Task) Truth() Truth { return t.rules().truth() }

// Fitted returns the kind of parameters that are fitted to the validation nodes.
func (t Task) Fitted() Fit { return t.rules().fitted() }

// Regression reports whether the outputs of a model are fitted to numbers by least squares, each in units of its
// deviation, and used as they are, so that they have neither probabilities nor a confidence.
func (t Task) Regression() bool { return t.rules().regression() }

// Groups returns for how many groups of nodes S needs nodes, where labels tell apart so many and a model has so many
// outputs.
func (t Task) Groups(present, outputs int) int { return t.rules().groups(present, outputs) }

// Loss returns the loss of logits, n×C, and leaves its gradient in them. targets are probabilities or numbers in place
// of labels, n×C; share is each row's part of the loss.
func (t Task) Loss(logits, targets *graph.Dense, share []float32) float64 {
	return t.rules().loss(logits, targets, share)
}

// Units returns the unit of each output's messages, by the targets of the labelled nodes of T; nil: there are no units,
// and messages are of classes.
func (t Task) Units(targets *graph.Dense) []float64 { return t.rules().units(targets) }

// Probabilities sets dst to what is published of logits: probabilities, numbers or an embedding. temperature is τ > 0;
// each has the τ of each output of a task that has some, and nil means that all are 1.
func (t Task) Probabilities(dst, logits []float32, temperature float32, each []float32) {
	t.rules().probabilities(dst, logits, temperature, each)
}

// Decode sets a to the answer that a published row gives. radius is half the width of each output's interval, of a task
// that has some.
func (t Task) Decode(a *Answer, row []float32, radius []float64) {
	t.rules().decode(a, row, radius)
}

// Class is the class that a published row predicts. It compares answers of tasks without classes, too: by their largest
// output.
func (t Task) Class(row []float32) int { return t.rules().class(row) }

// Events calls add for each event to which a published row gives a probability, with whether it is true: that the
// predicted class is right, or that the node has a label. class and truth are what is true of the node.
func (t Task) Events(row []float32, class int32, truth []float32, add func(probability float32, is bool)) {
	t.rules().events(row, class, truth, add)
}

// Right returns the share of an answer that is right, 0 to 1.
func (t Task) Right(row []float32, class int32, truth []float32) float64 {
	return t.rules().right(row, class, truth)
}

// Confidence is the probability that an answer is right: of classes the probability of the most probable one. Of
// labels it is the share of the labels for which the answer is expected to be right: of 0.9, 0.2 and 0.5, the mean of
// 0.9, 0.8 and 0.5. It is 0 for a task without probabilities.
func (t Task) Confidence(row []float32) float32 {
	var a Answer
	t.Decode(&a, row, nil)
	return a.Confidence
}

// Shares sets shares to each class's part of the answers, and returns their mean confidence: what a consumer compares
// its stream with.
func (t Task) Shares(shares []float64, probabilities []*graph.Dense) (confidence float64) {
	return t.rules().shares(shares, probabilities)
}

// Metrics describes the figures of [Task.Score], in its order.
func (t Task) Metrics() []Metric { return t.rules().metrics() }

// Primary is the metric by which hyperparameters and versions are chosen: the first that is no count.
func (t Task) Primary() Metric {
	metrics := t.Metrics()
	return metrics[slices.IndexFunc(metrics, func(m Metric) bool { return !m.Count })]
}

// Score returns how right answers are.
func (t Task) Score(a *Answers) []Score { return t.rules().score(a) }

// Summary says in a line how right a model is on S, beside the same model on the whole graph.
func (t Task) Summary(s *Summary) string { return t.rules().summary(s) }

// Answer has the fields of a prediction that depend on the task.
type Answer struct {
	Class      int     // the predicted class; -1: the task has none
	Confidence float32 // [Task.Confidence]
	// Listed says that the row has probabilities, which an answer may list, and by which it may abstain.
	Listed  bool
	Labels  []Label    // the most probable first; nil: the task has none
	Numbers []Interval // one an output; nil: the task has none
}

// Label is a label of an answer, by its number.
type Label struct {
	Number      int
	Probability float32
}

// Interval is a number of an answer with the interval around it.
type Interval struct{ Value, Lower, Upper float32 }

// names joins names for an error.
func names(tasks []Task) string {
	out := make([]string, len(tasks))
	for k, t := range tasks {
		out[k] = t.String()
	}
	return strings.Join(out, " and ")
}
