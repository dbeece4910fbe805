package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/event"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer"
)

// A refresh reads arrivals by name with the schema of the artifact that serves, and its artifact keeps it.
func TestRefreshKeepsTheSchema(t *testing.T) {
	t.Parallel()
	half, arrivals, labels := halvedOf(t, 40)
	byName := *half
	for k := range half.X.Cols() {
		c := schema.Column{Name: fmt.Sprintf("f%d", k), Type: schema.Number, Numbers: make([]float64, half.Nodes())}
		for i := range half.Nodes() {
			half.X.Each(i, func(at int, v float32) {
				if at == k {
					c.Numbers[i] = float64(v)
				}
			})
		}
		byName.Columns = append(byName.Columns, c)
	}
	o := trainer.Defaults()
	o.Nodes, o.Costs = 40, false
	o.Schema.Kinds = map[string]string{}
	for _, c := range byName.Columns { // also those that are constant
		o.Schema.Kinds[c.Name] = "number"
	}
	outcome, err := trainer.Train(t.Context(), &byName, o, time.Now(), trainer.Silent{})
	expect.OK(t, err)
	for k := range arrivals {
		f := &arrivals[k].Features
		values := make([]float64, half.X.Cols())
		for p, v := range f.Values {
			if f.Sparse {
				p = int(f.Indices[p])
			}
			values[p] = float64(v)
		}
		*f = event.Features{}
		for p, v := range values {
			f.Named = append(f.Named, schema.Field{Name: fmt.Sprintf("f%d", p),
				Value: schema.Value{Type: schema.Number, Number: v}})
		}
		// no column of the data
		f.Named = append(f.Named, schema.Field{Name: "elsewhere", Value: schema.Value{Type: schema.Bool}})
	}
	dir := files(t, half, arrivals, labels)
	expect.OK(t, artifact.Write(filepath.Join(dir, "first"), outcome.Bundle))
	report, err := runRefresh(t, dir,
		"--data {}/data --current {}/first --from {}/arrivals.jsonl --labels {}/labels.jsonl "+
			"--out {}/second --max-drop 100 --costs=false --input.unknown_features ignore")
	if err != nil || report.Merged.Joined != len(arrivals) {
		t.Fatalf("%d of %d joined, %v: %+v", report.Merged.Joined, len(arrivals), err, report.Merged)
	}
	second, err := artifact.Read(filepath.Join(dir, "second"))
	expect.OK(t, err)
	if second.Schema == nil || second.Schema.Hash() != outcome.Bundle.Schema.Hash() {
		t.Errorf("the schema of the next artifact is %v", second.Schema)
	}
}
