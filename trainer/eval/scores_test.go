package eval

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"rivulet/infer/target"
	"rivulet/test/expect"
)

// scored returns a row of node and one of graph batches, whose k-th score is k+1, or a list of it and the next one.
func scored(task target.Task) []Result {
	var scores []target.Score
	for k, m := range task.Metrics() {
		s := target.Score{Metric: m, Mean: float64(k + 1)}
		if m.Each {
			s.Mean, s.Values = 0, []float64{float64(k + 1), float64(k + 2)}
		}
		scores = append(scores, s)
	}
	return []Result{{Task: task, Batch: NodeBatch, Setting: OtoS, Seeds: []uint64{1}, Scores: scores},
		{Task: task, Batch: GraphBatch, Setting: OtoS, Seeds: []uint64{1}, Scores: scores}}
}

// Every score of every task is a column of the tables and of CSV, but counts of CSV, and stands in JSON where readers
// of results look for it.
func TestScoresOfEveryTask(t *testing.T) {
	for _, task := range target.Tasks() {
		rows := scored(task)
		text, err := json.Marshal(rows[0])
		expect.OK(t, err)
		var again Result
		expect.OK(t, json.Unmarshal(text, &again))
		expect.Same(t, rows[0].Scores, again.Scores, "%s: scores that were written and read", task)
		var in map[string]json.RawMessage
		expect.OK(t, json.Unmarshal(text, &in))
		if group := task.Group(); group != "" {
			if string(in["accuracy"]) != `{"mean":0,"std":0}` || string(in["macro_f1"]) != `{"mean":0,"std":0}` {
				t.Errorf("%s: figures of classes are %s", task, text)
			}
			of := in[group]
			in = nil
			expect.OK(t, json.Unmarshal(of, &in))
			if len(in) != len(rows[0].Scores) {
				t.Errorf("%s: %s, want %d scores", task, of, len(rows[0].Scores))
			}
		}
		var table, file bytes.Buffer
		expect.OK(t, WriteTable(&table, rows))
		expect.OK(t, WriteCSV(&file, rows))
		records, err := csv.NewReader(&file).ReadAll()
		expect.OK(t, err)
		for k := range rows[0].Scores {
			s := &rows[0].Scores[k]
			if !strings.Contains(table.String(), s.Title) || !strings.Contains(table.String(), s.Text()) {
				t.Errorf("%s: the table has no %s:\n%s", task, s.Title, &table)
			}
			want, err := json.Marshal(s.JSON())
			expect.OK(t, err)
			if string(in[s.Name]) != string(want) {
				t.Errorf("%s: %s is %s, want %s", task, s.Name, in[s.Name], want)
			}
			column := s.InCSV()
			if !s.Each {
				column += "_mean"
			}
			if n := strings.Count(" "+strings.Join(records[0], " ")+" ", " "+column+" "); s.Count != (n == 0) || n > 1 {
				t.Errorf("%s: %d columns %s in CSV: %q", task, n, column, records[0])
			}
			if at := slices.Index(records[0], "r2_mean"); task == target.Number && records[1][at] != "1" {
				t.Errorf("r2 is %s in CSV", records[1][at])
			}
		}
		compares := strings.Contains(table.String(), "gain:loss")
		if compares != task.Can(target.Comparison) || strings.Contains(table.String(), "ECE") == task.Regression() {
			t.Errorf("%s: columns\n%s", task, &table)
		}
		if line := rows[0].Summary(&rows[1], 40, 500, 100); !strings.Contains(line, "on 40 synthetic nodes") ||
			!strings.Contains(line, "whole graph of 500 by 100 at a time") {
			t.Errorf("%s: %q", task, line)
		}
		stored := Metrics(rows)[0]
		for _, s := range rows[0].Scores {
			want := s.Mean
			if !s.Stored {
				continue
			}
			if got := stored.Figure(s.Name); got != want {
				t.Errorf("%s: an artifact has %v for %s, want %v", task, got, s.Name, want)
			}
		}
	}
}

// Over seeds scores are means with deviations, lists are means, and a count is that of the first seed.
func TestScoresOverSeeds(t *testing.T) {
	for _, task := range target.Tasks() {
		a, b := scored(task)[0], scored(task)[0]
		b.Seeds = []uint64{2}
		for k := range b.Scores {
			b.Scores[k].Mean += 2
			for i := range b.Scores[k].Values {
				b.Scores[k].Values[i] += 2
			}
		}
		for k, s := range OverSeeds([]Result{a, b})[0].Scores {
			want := a.Scores[k].Mean + 1
			if s.Count {
				want--
			}
			if s.Mean != want || (s.Std == 0) != s.Count {
				t.Errorf("%s: %s is %v ± %v, want %v", task, s.Name, s.Mean, s.Std, want)
			}
			if s.Each && !slices.Equal(s.Values, []float64{float64(k + 2), float64(k + 3)}) {
				t.Errorf("%s: %s is %v", task, s.Name, s.Values)
			}
		}
		if v := a.Scores[0].Mean; v != 1 {
			t.Errorf("%s: a row was changed to %v", task, v)
		}
	}
}
