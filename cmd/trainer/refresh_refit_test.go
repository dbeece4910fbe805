package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/consumer"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/graph"
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/schema"
	"rivulet/test/expect"
)

// shop writes tables of a small graph with a category and numbers, and arrivals by name of half of its training nodes,
// with their labels. The category platinum occurs among the arrivals alone.
func shop(t *testing.T) (dir string, arrivals []event.Arrival) {
	t.Helper()
	d, err := generate.Graph(generate.Generator{Name: "shop", Nodes: 300, Edges: 1200, Classes: 3, Communities: 9,
		CommunityShare: .4, ClassShare: .2,
		DegreeExponent: 2.6, Kind: generate.Dense, Features: 4, CommunityTopic: .1, ClassTopic: .1, Train: 140,
		Validation: 80, Test: 80}, 7)
	expect.OK(t, err)
	dir = t.TempDir()
	var labels []event.Label
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,split,plan,f0,f1,f2,f3\n")
	edges.WriteString("source,target\n")
	out := make([]bool, d.Nodes())
	for k, i := range d.Train {
		out[i] = k%2 == 1
	}
	split := make([]string, d.Nodes())
	for name, of := range map[string][]int32{"train": d.Train, "val": d.Validation, "test": d.Test} {
		for _, i := range of {
			split[i] = name
		}
	}
	for i := range d.Nodes() {
		row := d.X.Dense.Row(i)
		if out[i] {
			a := replay.Arrival(d, int32(i), time.Unix(int64(i), 0).UTC())
			a.Features = event.Features{Named: []schema.Field{{Name: "plan",
				Value: schema.Value{Type: schema.Text, Text: []string{"platinum", "gold"}[i%2]}}}}
			for k, v := range row {
				a.Features.Named = append(a.Features.Named,
					schema.Field{Name: fmt.Sprintf("f%d", k), Value: schema.Value{Type: schema.Number, Number: float64(v)}})
			}
			arrivals = append(arrivals, a)
			labels = append(labels, event.Label{ID: a.ID, Class: event.ByName, ClassName: d.Classes[d.Labels[i]]})
			continue
		}
		fmt.Fprintf(&nodes, "%s,%s,%s,%s,%v,%v,%v,%v\n", d.IDs[i], d.Classes[d.Labels[i]], split[i],
			[]string{"gold", "silver", "bronze"}[(i+i/7)%3], row[0], row[1],
			row[2], row[3])
		cols, _ := d.Adj.Row(i)
		for _, j := range cols {
			if int(j) > i && !out[j] {
				fmt.Fprintf(&edges, "%s,%s\n", d.IDs[i], d.IDs[j])
			}
		}
	}
	expect.OK(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	writeFile(t, dir, "data/nodes.csv", []byte(nodes.String()))
	writeFile(t, dir, "data/edges.csv", []byte(edges.String()))
	for _, half := range []struct {
		name     string
		arrivals []event.Arrival
	}{{"first.jsonl", arrivals[:len(arrivals)/2]}, {"second.jsonl", arrivals[len(arrivals)/2:]}} {
		var lines []byte
		for k := range half.arrivals {
			if lines, err = (json.Codec{}).AppendArrival(lines, &half.arrivals[k]); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, '\n')
		}
		writeFile(t, dir, half.name, lines)
	}
	writeLabels(t, dir, "labels.jsonl", labels)
	return dir, arrivals
}

// A graph that a refresh has stored keeps its schema: a refresh that goes on from it with nothing that serves makes an
// artifact with the same one.
func TestRefreshOfAStoredGraphKeepsTheSchema(t *testing.T) {
	t.Parallel()
	dir, arrivals := shop(t)
	report, err := runRefresh(t, dir, "--data {}/data --from {}/first.jsonl --labels {}/labels.jsonl --out {}/one "+
		"--data-out {}/grown --nodes 15 --costs=false")
	if err != nil || report.Merged.Joined != len(arrivals)/2 {
		t.Fatalf("%v: %+v", err, report)
	}
	report, err = runRefresh(t, dir, "--data {}/grown --from {}/second.jsonl --labels {}/labels.jsonl --out {}/two "+
		"--data-out {}/again --nodes 15 --costs=false")
	if err != nil || report.Merged.Joined != len(arrivals)-len(arrivals)/2 {
		t.Fatalf("%v: %+v", err, report)
	}
	one, two := mustRead(t, dir+"/one"), mustRead(t, dir+"/two")
	if two.Schema == nil || two.Schema.Hash() != mustRead(t, dir+"/one").Schema.Hash() {
		t.Errorf("the schema of %s is %v", one.Manifest.Version, two.Schema)
	}
	mustRun(t, dir, "train --data {}/again --out {}/three --nodes 15 --costs=false")
	if three := mustRead(t, dir+"/three"); three.Schema == nil || three.Schema.Hash() != two.Schema.Hash() {
		t.Errorf("the schema of what train makes of the stored graph is %v", three.Schema)
	}
}

// A category that only arrivals have becomes a position with --refit-schema, and not without. The refit artifact is
// compared with the one that serves, each by its own positions; arrivals by name go on, and those by the old positions
// are refused.
func TestRefreshRefitsTheSchemaWhereAskedFor(t *testing.T) {
	t.Parallel()
	dir, arrivals := shop(t)
	mustRun(t, dir, "train --data {}/data --out {}/first --nodes 15 --costs=false")
	first := mustRead(t, dir+"/first")
	const line = "--from {}/first.jsonl --labels {}/labels.jsonl --max-drop 100 --costs=false "
	plans := func(b *artifact.Bundle) []string {
		for _, f := range b.Schema.Features() {
			if f.Name == "plan" {
				return f.Categories
			}
		}
		return nil
	}
	if _, err := runRefresh(t, dir,
		line+"--data {}/data --current {}/first --out {}/kept --data-out {}/grown"); err != nil {
		t.Fatal(err)
	}
	kept := mustRead(t, dir+"/kept")
	if kept.Schema.Hash() != first.Schema.Hash() || slices.Contains(plans(kept), "platinum") {
		t.Errorf("without the flag the plans are %q", plans(kept))
	}
	for name, from := range map[string]string{"table": "--data {}/data --current {}/first",
		"stored": "--data {}/grown --current {}/kept --from {}/second.jsonl"} {
		report, err := runRefresh(t, dir, line+from+" --refit-schema --out {}/"+name+" --data-out {}/"+name+"-graph")
		if err != nil || report.Was == nil || report.Merged.Joined == 0 {
			t.Fatalf("%s: %v, %+v", name, err, report)
		}
		refit := mustRead(t, filepath.Join(dir, name))
		if refit.Schema.Hash() == first.Schema.Hash() || !slices.Contains(plans(refit), "platinum") {
			t.Errorf("%s: the plans are %q", name, plans(refit))
		}
		decoder := consumer.NewDecoder(read.Reader{}, event.Limits{})
		decoder.Reads(refit.Schema, graph.Slots{})
		a := arrivals[0]
		value, err := json.Codec{}.AppendArrival(nil, &a)
		expect.OK(t, err)
		old := []event.Header{{Key: event.HeaderSchema, Value: []byte(first.Schema.Hash())}}
		got, _, err := decoder.Arrival(t.Context(), &kafka.Record{Value: value, Headers: old}, refit.Schema.Width())
		if err != nil || len(got.Features.Values) != refit.Schema.Width() {
			t.Errorf("%s: an arrival by name: %v", name, err)
		}
		expect.OK(t, a.Features.Encode(first.Schema))
		a.Features.Named = nil
		if value, err = (json.Codec{}).AppendArrival(nil, &a); err != nil {
			t.Fatal(err)
		}
		var fault *event.FieldError
		if _, _, err = decoder.Arrival(t.Context(), &kafka.Record{Value: value, Headers: old},
			refit.Schema.Width()); !errors.As(err, &fault) ||
			fault.Reason != event.ReasonSchema {
			t.Errorf("%s: an arrival by the old positions: %v", name, err)
		}
		// The next refresh keeps the new schema, and reads by it.
		if _, err := runRefresh(t, dir, "--data {}/"+name+"-graph --from {}/second.jsonl --labels {}/labels.jsonl --out {}/"+
			name+"-next --nodes 15 --costs=false"); err != nil {
			t.Fatal(err)
		}
		if report.Merged.Joined < len(arrivals)/2 {
			t.Errorf("%s: %d joined", name, report.Merged.Joined)
		}
		if _, err := artifact.Read(filepath.Join(dir, name+"-next")); err == nil {
			if next := mustRead(t, filepath.Join(dir, name+"-next")); next.Schema.Hash() != refit.Schema.Hash() {
				t.Errorf("%s: the next schema is another one", name)
			}
		}
	}
}
