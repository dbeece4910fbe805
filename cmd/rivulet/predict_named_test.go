package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/internal/cli"
	"rivulet/internal/demo"
	"rivulet/internal/replay"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer"
)

// namedGraph returns a small graph whose features are columns f0 and so on, and the same with positions.
func namedGraph(t *testing.T) (byName, byPosition *dataset.Dataset) {
	t.Helper()
	g := generate.Generator{Name: "tiny", Nodes: 300, Edges: 1200, Classes: 3, Communities: 9, CommunityShare: .4,
		ClassShare: .2, DegreeExponent: 2.6,
		Kind: generate.Dense, Features: 12, CommunityTopic: .1, ClassTopic: .1, Train: 140, Validation: 80, Test: 80}
	d, err := generate.Graph(g, 7)
	expect.OK(t, err)
	named := *d
	named.X = graph.Features{}
	for k := range d.X.Cols() {
		c := schema.Column{Name: fmt.Sprintf("f%d", k), Type: schema.Number}
		for i := range d.Nodes() {
			c.Numbers = append(c.Numbers, float64(d.X.Dense.Row(i)[k]))
		}
		named.Columns = append(named.Columns, c)
	}
	return &named, d
}

// predicted returns the lines that predict writes for the test nodes, after a change of each arrival.
func predicted(t *testing.T, dir string, d *dataset.Dataset, change func(a *event.Arrival)) string {
	t.Helper()
	var lines []byte
	for _, i := range d.Test {
		a := replay.Arrival(d, i, time.Unix(0, 0).UTC())
		change(&a)
		var err error
		if lines, err = (json.Codec{}).AppendArrival(lines, &a); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, '\n')
	}
	var out, errs bytes.Buffer
	cmd := root()
	cmd.SetIn(bytes.NewReader(lines))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs([]string{"predict", "--artifact", dir, "--probabilities"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if n := strings.Count(out.String(), "\n"); n != len(d.Test) {
		t.Fatalf("%d predictions of %d arrivals", n, len(d.Test))
	}
	return written.ReplaceAllString(out.String(), "")
}

// written matches the times of a prediction, which no two runs share.
var written = regexp.MustCompile(`,"arrival_time":.*`)

// Arrivals by name, in whatever order their producer writes them, get the predictions of those by position, and demo
// serves the artifact for the same table.
func TestPredictByName(t *testing.T) {
	byName, byPosition := namedGraph(t)
	o := trainer.Defaults()
	o.Nodes, o.Costs = 9, false
	out, err := trainer.Train(t.Context(), byName, o, time.Unix(0, 0), trainer.Silent{})
	expect.OK(t, err)
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, out.Bundle))
	same := func(*event.Arrival) {}
	want := predicted(t, dir, byPosition, same)
	if got := predicted(t, dir, byName, same); got != want {
		t.Errorf("features by name get other predictions than those by position\n%.300s\n%.300s", got, want)
	}
	if got := predicted(t, dir, byName, func(a *event.Arrival) { slices.Reverse(a.Features.Named) }); got != want {
		t.Error("features by name in another order get other predictions")
	}
	changed := func(a *event.Arrival) { a.Features.Named[0].Value.Number += 100 }
	if predicted(t, dir, byName, changed) == want {
		t.Error("another value of f0 changes nothing")
	}
	if _, err := demo.Run(t.Context(), byPosition,
		demo.Options{Artifact: out.Bundle, Progress: cli.Stderr()}); err == nil ||
		!strings.Contains(err.Error(), "is of other data") {
		t.Errorf("an artifact of columns is taken for data of positions: %v", err)
	}
	report, err := demo.Run(t.Context(), byName, demo.Options{Artifact: out.Bundle, Train: o, Mode: attach.Node, Batch: 64,
		Progress: cli.Stderr(), Log: slog.New(slog.DiscardHandler)})
	expect.OK(t, err)
	if report.Missing != 0 || report.Arrivals != len(byName.Test) {
		t.Errorf("demo of the artifact: %d of %d arrivals are missing", report.Missing, report.Arrivals)
	}
}
