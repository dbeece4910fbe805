package target

import (
	"encoding/json"
	"fmt"
	"strings"

	"rivulet/graph"
)

// Answers are the answers to some nodes, with what is true of them. Lists of matrices have a batch each.
type Answers struct {
	Class                 []int32 // predicted, of all batches ([Task.Class])
	Logits, Probabilities []*graph.Dense
	Labels                [][]int32      // true class
	Targets               []*graph.Dense // true labels or numbers, n×outputs; nil: the task has none
	Radius                []float64      // of the intervals of outputs; nil: there are none
	Queries               *Queries       // neighbours that were held out; nil: the task has none
	// Brief says that only the primary score is read: scores that need no model are left out.
	Brief bool
}

// Show chooses the columns in which tables show a metric.
type Show int

const (
	// Apart are two columns, of graph and of node batches, with deviations over seeds.
	Apart Show = iota
	// Together are the figures of graph and of node batches in one cell.
	Together
	// OfNodes is the figure of node batches, with its deviation over seeds.
	OfNodes
	// Plain is the mean of node batches.
	Plain
)

// Metric describes a figure by which answers are judged.
type Metric struct {
	Name   string // in JSON and in an artifact: "micro_f1"
	Column string // in CSV; empty: the name
	Title  string // in tables
	Long   string // alone, of the primary one; Behind stands behind its value
	Behind string
	Show   Show
	// Each says that it has a value for each output, in the output's unit. Count says that it is a number of things, which
	// says how far the other figures rest on them.
	Each, Count bool
	// Stored says that an artifact keeps it.
	Stored bool
}

// InCSV is the name of the metric in CSV.
func (m *Metric) InCSV() string {
	if m.Column != "" {
		return m.Column
	}
	return m.Name
}

// Score is a metric with its value: in percent, a mean over seeds with the sample deviation, 0 for one seed.
type Score struct {
	Metric
	Mean, Std float64
	Values    []float64 // of [Metric.Each]
}

// Text writes the mean for a table.
func (s Score) Text() string {
	switch {
	case s.Each:
		text := make([]string, len(s.Values))
		for k, v := range s.Values {
			text[k] = fmt.Sprintf("%.4g", v)
		}
		return strings.Join(text, " ")
	case s.Count:
		return fmt.Sprint(int(s.Mean))
	}
	return fmt.Sprintf("%.1f", s.Mean)
}

// JSON is the value as JSON has it.
func (s Score) JSON() any {
	switch {
	case s.Each:
		return s.Values
	case s.Count:
		return int(s.Mean)
	}
	return struct {
		Mean float64 `json:"mean"`
		Std  float64 `json:"std"`
	}{s.Mean, s.Std}
}

// ReadJSON reads a value as [Score.JSON] returns it.
func (s *Score) ReadJSON(text []byte) error {
	switch {
	case s.Each:
		return json.Unmarshal(text, &s.Values)
	case s.Count:
		return json.Unmarshal(text, &s.Mean)
	}
	return json.Unmarshal(text, &struct{ Mean, Std *float64 }{&s.Mean, &s.Std})
}

// Find returns the score of a metric; a zero one if it is not there.
func Find(scores []Score, metric string) Score {
	for _, s := range scores {
		if s.Name == metric {
			return s
		}
	}
	return Score{}
}

// valued gives metrics their values.
func valued(metrics []Metric, means ...float64) []Score {
	out := make([]Score, len(metrics))
	for k, m := range metrics {
		out[k] = Score{Metric: m, Mean: means[k]}
	}
	return out
}

// Summary has the figures of a one-line summary of a run.
type Summary struct {
	Scores, Whole []Score // on S, and of the same model on the whole graph
	Nodes         int     // synthetic nodes
	Joined        string  // how nodes were joined to the whole graph
	Agreement     float64 // share of equal answers, in percent, of a task that has [Comparison]
}

// percent returns a score, and the same one of the whole graph.
func (s *Summary) percent(metric string) (onS, whole float64) {
	return Find(s.Scores, metric).Mean, Find(s.Whole, metric).Mean
}
