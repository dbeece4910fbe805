package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/test/expect"
)

// A refresh by stages of tables, which are not in memory, makes the artifact and the report of one of the same graph in
// memory, which are those that train makes of the graph with its arrivals. Its graph is a data set, from which all
// engines go on. What stages do not have is said before anything is read.
func TestRefreshOfTables(t *testing.T) {
	half, arrivals, labels := halvedOf(t, 40)
	x := graph.NewDense(half.X.Rows(), half.X.Cols()) // as tables have them
	for i := range x.Rows {
		half.X.Each(i, func(c int, v float32) { x.Row(i)[c] = v })
	}
	half.X, half.BagOfWords = graph.Features{Dense: x}, false
	dir := files(t, half, arrivals, labels)
	expect.OK(t, half.SaveCSV(dir+"/tables"))
	mustRun(t, dir, "train --sums fixed --data {}/data --out {}/first --nodes 40 --entries 3 --seed 5")
	const line = "--from {}/arrivals.jsonl --labels {}/labels.jsonl --current {}/first "
	ofData, err := runRefresh(t, dir, line+
		"--data {}/data --out {}/second --data-out {}/later --engine disk --memory 256MiB")
	expect.OK(t, err)
	if ofData.Merged.Joined != len(arrivals) || ofData.Nodes != 280 || *ofData.Accuracy < *ofData.Was {
		t.Errorf("%+v", ofData)
	}
	for _, engine := range []string{"--engine disk --memory 256MiB", "--sums fixed"} {
		name := strings.ReplaceAll(engine[2:6], " ", "")
		o, err := runRefresh(t, dir, line+"--data {}/tables --out {}/of-"+name+" --data-out {}/grown-"+name+" "+engine)
		expect.OK(t, err)
		if diff := cmp.Diff(ofData.Merged, o.Merged); diff != "" || o.Nodes != ofData.Nodes ||
			*o.Accuracy != *ofData.Accuracy || *o.Was != *ofData.Was {
			t.Errorf("%s: %+v, in memory %+v (-in memory +of tables):\n%s", engine, o, ofData, diff)
		}
		sameParts(t, dir+"/second", dir+"/of-"+name)
		mustRun(t, dir, "train --sums fixed --data {}/grown-"+name+" --out {}/trained-"+name+
			" --nodes 40 --entries 3 --seed 5")
		sameParts(t, dir+"/trained-"+name, dir+"/second")
		if a, b := mustRead(t, dir+"/trained-"+name).Manifest.Data.Fingerprint,
			mustRead(t, dir+"/second").Manifest.Data.Fingerprint; a != b {
			t.Errorf("the graph is %s, trained on %s", b, a)
		}
		for _, next := range []string{"", "--sums fixed", "--engine disk"} { // nothing is new in its graph
			o, err := runRefresh(t, dir, line+"--data {}/grown-"+name+" --out {}/third "+next)
			if err != nil || o.Artifact != "" || o.Merged.InT != len(arrivals) || o.Nodes != ofData.Nodes {
				t.Errorf("%s after %s: %+v (%v)", next, engine, o, err)
			}
		}
	}
	for more, want := range map[string]string{
		"tables --sums fixed --refit-schema": "the schema cannot be fitted anew",
		"data --engine spark":                "--engine spark: want --work",
		"data --memory 1GiB":                 "--memory and --work are for --engine disk",
	} {
		expect.Error(t, expect.ErrorOf(runRefresh(t, dir, line+"--out {}/third --data {}/"+more)), want, "%s", more)
	}
	for _, pattern := range []string{"/.*partial*", "/*.work"} {
		if left, err := filepath.Glob(dir + pattern); err != nil || len(left) > 0 {
			t.Errorf("%q are left (%v)", left, err)
		}
	}
	spoil(t, dir+"/grown-sums/labelled.parquet")
	expect.Error(t, expect.ErrorOf(runRefresh(t, dir, line+"--data {}/grown-sums --out {}/third --sums fixed")),
		"its files were changed")
}

// spoil adds a byte to a file.
func spoil(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("x")
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}

// The command of README on tables, started again by a supervisor, goes on from the tables of the process before it,
// with and without a place to store them.
func TestRefreshOfTablesIsStartedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ofTables()
	produce(t, w.broker.Addr(), w.arrivals[:90], w.labels)
	first := w.life(w.flags(), 1)[0]
	if first.Nodes != 230 || !first.Published || !first.Committed {
		t.Fatalf("first process: %+v\n%s", first, w.log)
	}
	produce(t, w.broker.Addr(), w.arrivals[90:], nil)
	second := w.life(w.flags(), 2)
	if o := second[0]; o.Nodes != 280 || o.Merged.Arrivals != 50 || o.Before != first.Version || !o.Published {
		t.Errorf("after a restart: %+v, want 280 nodes, of which 50 have arrived since %s", o, first.Version)
	}
	if o := second[1]; o.Merged.Arrivals != 0 || o.Published || o.Version != "" {
		t.Errorf("nothing is new: %+v", o)
	}
	f := w.flags()
	f.group, f.dataOut, f.out = "", "", w.dir+"/unstored"
	unstored := w.life(f, 2)
	if o := unstored[0]; o.Nodes != 280 || !o.Published || o.Data != "" {
		t.Errorf("without --data-out: %+v", o)
	}
	if o := unstored[1]; o.Merged.InT != 140 || o.Published {
		t.Errorf("without --data-out, nothing new: %+v", o)
	}
	if strings.Contains(w.log.String(), "level=WARN") || strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("log:\n%s", w.log.String())
	}
}
