package eval

import (
	"encoding/json"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/infer/target"
)

// Scores returns how right an answer is. radius is half the width of each output's interval, of a task that has some.
func (a *Answer) Scores(s *Set, radius []float64) []target.Score {
	of := a.with(s)
	of.Radius = radius
	return s.Task.Score(of)
}

// Score returns the figure by which hyperparameters are compared, in percent: the first of the task's scores.
func (a *Answer) Score(s *Set) float64 {
	of := a.with(s)
	of.Brief = true
	return target.Find(s.Task.Score(of), s.Task.Primary().Name).Mean
}

// Radius returns half the width of each output's interval ([target.Answers.Halves]).
func (a *Answer) Radius(s *Set) ([]float64, error) { return a.with(s).Halves() }

// Confusion counts the answers by class, C×C: row the label, column the prediction.
func (a *Answer) Confusion(s *Set) [][]int { return a.with(s).Confusion() }

// with returns the answer beside what is true of the set.
func (a *Answer) with(s *Set) *target.Answers {
	return &target.Answers{Class: a.Class, Logits: a.Logits, Probabilities: a.Probabilities, Labels: s.Labels,
		Targets: s.Targets, Queries: s.Queries}
}

// Score returns the score of a metric; a zero one if the row has none.
func (r Result) Score(metric string) target.Score { return target.Find(r.Scores, metric) }

// MarshalJSON writes the scores of classes beside the other fields, where they are 0 for other tasks, and those of
// another task in an object of their own.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	rest, err := json.Marshal(plain(r))
	if err != nil {
		return nil, err
	}
	scores, own := map[string]any{}, map[string]any{}
	for _, m := range target.Classes.Metrics() {
		s := target.Score{Metric: m}
		scores[m.Name] = s.JSON()
	}
	if group := r.Task.Group(); group == "" {
		own = scores
	} else if len(r.Scores) > 0 {
		scores[group] = own
	}
	for k := range r.Scores {
		own[r.Scores[k].Name] = r.Scores[k].JSON()
	}
	first, err := json.Marshal(scores)
	if err != nil {
		return nil, err
	}
	return slices.Concat(first[:len(first)-1], []byte{','}, rest[1:]), nil
}

// UnmarshalJSON reads what MarshalJSON writes. A row without the scores of another task is one of classes.
func (r *Result) UnmarshalJSON(text []byte) error {
	type plain Result
	var groups map[string]json.RawMessage
	if err := json.Unmarshal(text, (*plain)(r)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		return err
	}
	r.Task, r.Scores = target.Classes, nil
	scores := groups
	for _, task := range target.Tasks() {
		if group, ok := groups[task.Group()]; ok {
			r.Task, scores = task, nil
			if err := json.Unmarshal(group, &scores); err != nil {
				return err
			}
		}
	}
	for _, m := range r.Task.Metrics() {
		s := target.Score{Metric: m}
		value, ok := scores[m.Name]
		if !ok { // rows of another study than of methods
			continue
		}
		if err := s.ReadJSON(value); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		r.Scores = append(r.Scores, s)
	}
	return nil
}

// joinedScores are the scores over seeds. A count is that of the first seed.
func joinedScores(rows []Result) []target.Score {
	out := slices.Clone(rows[0].Scores)
	for k := range out {
		s := &out[k]
		if s.Count {
			continue
		}
		of := SpreadOf(values(rows, func(r *Result) float64 { return r.Scores[k].Mean }))
		s.Mean, s.Std, s.Values = of.Mean, of.Std, slices.Clone(s.Values)
		for i := range s.Values {
			s.Values[i] = SpreadOf(values(rows, func(r *Result) float64 { return r.Scores[k].Values[i] })).Mean
		}
	}
	return out
}

// scoreColumns are the columns of a task's scores.
func scoreColumns(task target.Task) (out []column) {
	for k, m := range task.Metrics() {
		deviated := func(of *Result) string {
			return spread(Spread{of.Scores[k].Mean, of.Scores[k].Std}, len(of.Seeds))
		}
		switch m.Show {
		case target.Apart:
			out = append(out, column{"graph " + m.Title, func(l *line) string { return deviated(&l.graph) }},
				column{"node " + m.Title, func(l *line) string { return deviated(&l.node) }})
		case target.Together:
			out = append(out, column{m.Title, func(l *line) string {
				return l.graph.Scores[k].Text() + "/" + l.node.Scores[k].Text()
			}})
		case target.OfNodes:
			out = append(out, column{m.Title, func(l *line) string { return deviated(&l.node) }})
		case target.Plain:
			out = append(out, column{m.Title, func(l *line) string { return l.node.Scores[k].Text() }})
		default:
			panic(fmt.Sprintf("eval: metric %s is shown in a way that tables do not know", m.Name))
		}
	}
	return out
}

// columnsOf returns the columns of results, which are all of one task.
func columnsOf(results []Result) []column {
	task := target.Classes
	if len(results) > 0 {
		task = results[0].Task
	}
	out := append(slices.Clone(settingColumns), scoreColumns(task)...)
	if task.Can(target.Comparison) {
		out = append(out, comparisonColumns...)
	}
	if !task.Regression() {
		out = append(out, errorColumn)
	}
	return append(out, costColumns...)
}

// putScores writes the scores of classes, which are 0 for other tasks.
func (r *Result) putClasses(put func(name string, value any)) {
	for _, m := range target.Classes.Metrics() {
		var s target.Score
		if r.Task.Group() == "" {
			s = r.Score(m.Name)
		}
		put(m.InCSV()+"_mean", s.Mean)
		put(m.InCSV()+"_std", s.Std)
	}
}

// putScores writes the scores of another task than classes. Lists come last.
func (r *Result) putScores(put func(name string, value any)) {
	classes := target.Classes.Metrics()
	for _, each := range []bool{false, true} {
		for k := range r.Scores {
			s := &r.Scores[k]
			known := r.Task.Group() == "" && slices.ContainsFunc(classes, func(m target.Metric) bool { return m.Name == s.Name })
			switch {
			case s.Each != each || s.Count || known:
			case s.Each:
				put(s.InCSV(), s.Text())
			default:
				put(s.InCSV()+"_mean", s.Mean)
				put(s.InCSV()+"_std", s.Std)
			}
		}
	}
}

// Metrics returns the rows as an artifact's manifest has them.
func Metrics(results []Result) (out []artifact.Metric) {
	for _, r := range results {
		labels := r.Setting == StoSLabels
		if labels {
			r.Setting = StoS
		}
		m := artifact.Metric{Model: r.Model, Setting: r.Setting, SharedM: r.SharedM, Own: r.Own, Labels: labels,
			Batch: r.Batch, Calibration: r.Calibration}
		for _, s := range r.Scores {
			if s.Stored {
				m.Set(s.Name, s.Mean)
			}
		}
		out = append(out, m)
	}
	return out
}

// Summary says in a line how right a row of node batches on S is beside the same model on the whole graph. Whole's
// figures are those of batches, unless the row has those of single arrivals.
func (r *Result) Summary(whole *Result, synthetic, nodes, batch int) string {
	if r.Alone == nil {
		return r.Task.Summary(&target.Summary{Scores: r.Scores, Whole: whole.Scores, Nodes: synthetic,
			Agreement: r.Agreement.Mean,
			Joined:    fmt.Sprintf("joined to the whole graph of %d by %d at a time, without edges among them", nodes, batch)})
	}
	of := "the test nodes"
	if r.Alone.Nodes < r.Alone.Of {
		of = fmt.Sprintf("%d of the %d test nodes", r.Alone.Nodes, r.Alone.Of)
	}
	return fmt.Sprintf("of %s, each arriving alone, %.1f%% right on %d synthetic nodes, %.1f%% on the whole graph of %d; "+
		"%.1f%% of the answers are the same", of, r.Alone.Accuracy, synthetic, r.Alone.Whole, nodes, r.Alone.Agreement)
}
