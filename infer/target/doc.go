// Package target says what a model predicts of a node: its task. A [Task] is a value, and every other package asks it
// in place of asking which task it is.
//
//	task      a node's label           a logit becomes               judged by
//	classes   one of several classes   a probability, by softmax     accuracy and macro F1
//	labels    any of several labels    a probability, by sigmoid     micro and macro F1, mean average precision
//	number    a number an output       the number itself             R² and mean absolute error
//	links     its neighbours           a coordinate of the embedding the rank of neighbours that were held out
//
// A task is made of parts, and each part is a verb of [Task]:
//
//	[Task.Truth]          the form in which data hold what is true of a node
//	[Task.Loss]           the loss of logits, with its gradient, by which weights are fitted
//	[Task.Units]          the units of the messages that M is solved for
//	[Task.Fitted]         what validation fits for the answers: a temperature, intervals, nothing
//	[Task.Probabilities]  what is published in place of logits
//	[Task.Decode]         the answer to an arrival
//	[Task.Score]          how right the answers to many nodes are
//	[Task.Require]        what a run may do with it, by the table in capabilities.go
//
// # A new task
//
// Write a file like classes.go with a type that implements [rules], and add it to [Tasks]; the compiler and the tests
// name what is missing. Then look through the table of capabilities. If its labels have a form that no [Truth] is, the
// packages that read and merge data have to learn that form: they refuse one that they do not know.
//
// Files: task.go has [Task]; classes.go, labels.go, number.go and links.go a task each; truth.go forms of labels;
// loss.go losses of rows, exp.go their exponentials; score.go figures; f1.go counts of labels; units.go means and
// deviations; capabilities.go the table of capabilities.
package target
