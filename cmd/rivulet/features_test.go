package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
)

// Lines without features are predicted like whole lines once features put has written the features, by name or by
// position.
func TestFeaturesPut(t *testing.T) {
	byName, byPosition := namedGraph(t)
	o := trainer.Defaults()
	o.Nodes, o.Costs = 9, false
	out, err := trainer.Train(t.Context(), byName, o, time.Unix(0, 0), trainer.Silent{})
	expect.OK(t, err)
	dir := t.TempDir()
	model, tables, graph := filepath.Join(dir, "artifact"), filepath.Join(dir, "tables"), filepath.Join(dir, "graph")
	for _, err := range []error{artifact.Write(model, out.Bundle), byPosition.SaveCSV(tables), byPosition.Save(graph)} {
		expect.OK(t, err)
	}
	columns(t, filepath.Join(tables, "nodes.csv"), byPosition)
	lines := func(args ...string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "lines")
		if _, err := harness.Execute(root(), append([]string{"replay", "--out", file}, args...)...); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		return string(text)
	}
	predict := func(text string, args ...string) string {
		t.Helper()
		cmd := root()
		cmd.SetIn(strings.NewReader(text))
		got, err := harness.Execute(cmd, append([]string{"predict", "--artifact", model}, args...)...)
		expect.OK(t, err)
		return written.ReplaceAllString(got, "")
	}
	want := predict(lines("--data", graph))
	bare := lines("--data", graph, "--without-features")
	if strings.Contains(bare, "features") || strings.Count(bare, "\n") != len(byPosition.Test) {
		t.Fatalf("%.300s", bare)
	}
	for _, c := range []struct{ data, format, more string }{{graph, "float32", ""}, {graph, "json", ""},
		{tables, "json", ""}, {tables, "float32", "--artifact=" + model}} {
		redis := "--features.url=redis://" + miniredis.RunT(t).Addr()
		args := []string{"features", "put", "--data", c.data, "--features.format", c.format, "--nodes", "test", redis}
		if c.more != "" {
			args = append(args, c.more)
		}
		if _, err := harness.Execute(root(), args...); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if got := predict(bare, "--features.from=redis", "--features.format", c.format, redis); got != want {
			t.Errorf("%+v: other predictions than of whole lines\n%.300s\n%.300s", c, got, want)
		}
	}
	redis := "--features.url=redis://" + miniredis.RunT(t).Addr()
	for text, args := range map[string][]string{
		"--features.format json": {"--data", tables, redis},
		"want all, test":         {"--data", graph, "--nodes", "none", redis},
		"--ttl is -1s":           {"--data", graph, "--ttl=-1s", redis},
		"writing the features": {"--data", graph, "--features.url=redis://127.0.0.1:1",
			"--redis.retry.attempts=0"},
	} {
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), append([]string{"features", "put"}, args...)...)),
			text, "%q", args)
	}
}

// columns writes a table of nodes with a column for each feature.
func columns(t *testing.T, file string, d *dataset.Dataset) {
	t.Helper()
	split := map[int32]string{}
	for name, nodes := range map[string][]int32{"train": d.Train, "val": d.Validation, "test": d.Test} {
		for _, i := range nodes {
			split[i] = name
		}
	}
	var b strings.Builder
	b.WriteString("id,label,split")
	for k := range d.X.Cols() {
		fmt.Fprintf(&b, ",f%d", k)
	}
	for i := range d.Nodes() {
		fmt.Fprintf(&b, "\n%s,%s,%s", d.IDs[i], d.Classes[d.Labels[i]], split[int32(i)])
		for k, v := range d.X.Dense.Row(i) {
			if k == 0 && int32(i) == d.Train[0] {
				b.WriteString(",") // a missing value: the columns are read by name
				continue
			}
			fmt.Fprintf(&b, ",%v", v)
		}
	}
	expect.OK(t, os.WriteFile(file, []byte(b.String()+"\n"), 0o600))
}
