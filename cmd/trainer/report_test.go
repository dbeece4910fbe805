package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/graph"
	"rivulet/lab/mcond"
	"rivulet/lab/methods"
	page "rivulet/lab/report"
	"rivulet/lab/study"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

const tiny = " --preset small --preset-nodes 200 --nodes 8"

// pageOf runs report and returns the page.
func pageOf(t *testing.T, line string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if _, err := harness.Execute(root(), strings.Fields("report"+line+" --out "+file)...); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	expect.OK(t, err)
	return string(text)
}

// drawn reports whether a section of a page has a plot.
func drawn(t *testing.T, text, id string) bool {
	t.Helper()
	_, section, found := strings.Cut(text, `<section id="`+id+`"`)
	if !found {
		t.Fatalf("no section %s", id)
	}
	section, _, _ = strings.Cut(section, "</section>")
	return strings.Contains(section, "<svg")
}

// All parts of a report but the costs, which TestReportOfResults has, from the data to the page.
func TestReportOfData(t *testing.T) {
	text := pageOf(t, tiny+",16 --costs=false --methods solved,learned --rounds 1 --sweep-rounds 1 --k 1,2 "+
		"--lambda-values 0 --beta-values 10")
	for _, id := range []string{"losses", "ratio", "sparsity", "sensitivity", "mapping", "starts", "confusion",
		"reliability"} {
		if !drawn(t, text, id) {
			t.Errorf("section %s is not drawn", id)
		}
	}
	for _, want := range []string{"L_gra", "L_tra, random start", "δ = 2", "k = 2", "β = 100", "before temperature",
		"<b>solved,learned</b>", "<b>10</b>", "<dd>sha256:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// A study that trains the method learned anyway shows its run, without a part.
func TestReportKeepsTheStudysRun(t *testing.T) {
	text := pageOf(t, tiny+" --costs=false --methods learned --rounds 1 --parts none")
	for id, want := range map[string]bool{"losses": true, "mapping": true, "sparsity": true, "starts": false,
		"sensitivity": false, "ratio": false} {
		if drawn(t, text, id) != want {
			t.Errorf("section %s is drawn: %v", id, !want)
		}
	}
}

// The output of eval --json is drawn without further runs, with its figures.
func TestReportOfResults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "eval.json")
	out, err := harness.Execute(root(), strings.Fields("eval"+tiny+
		" --methods solved,random --calibrations none --json")...)
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(file, []byte(out), 0o600))
	text := pageOf(t, " --results "+file)
	for id, want := range map[string]bool{"cost": true, "confusion": true, "reliability": true, "losses": false,
		"ratio": false} {
		if drawn(t, text, id) != want {
			t.Errorf("section %s is drawn: %v", id, !want)
		}
	}
	if !strings.Contains(text, ">random</th>") || !strings.Contains(text, "ms per batch of 1000") ||
		!strings.Contains(text, "sha256:") {
		t.Error("the page does not say what the file says")
	}
	withData := pageOf(t, tiny+" --results "+file+" --parts sparsity --k 1,3")
	if !drawn(t, withData, "sparsity") || !strings.Contains(withData, "<dd>small") {
		t.Error("a part beside results from a file is not drawn")
	}
	_, err = harness.Execute(root(), strings.Fields("report --preset small --preset-nodes 300 --parts none --results "+
		file+" --out "+filepath.Join(t.TempDir(), "x"))...)
	expect.Error(t, err, "fingerprint", "results of other data")
}

func TestReportNamesWrongFlags(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.json")
	expect.OK(t, os.WriteFile(empty, []byte(`{"results": []}`), 0o600))
	for want, line := range map[string]string{
		`required flag(s) "out" not set`:            tiny,
		"nothing to draw: give --data DIR":          " --out " + dir + "/x",
		dir + "/none is not a directory":            tiny + " --out " + dir + "/none/x",
		`parts[1] is "all", want learned, sparsity`: tiny + " --parts learned,all --out " + dir + "/x",
		"k[1] is 0, want at least 1":                tiny + " --k 4,0 --out " + dir + "/x",
		"beta-values[0] is -1, want at least 0":     tiny + " --beta-values -1 --out " + dir + "/x",
		"sweep-rounds is 0":                         tiny + " --sweep-rounds 0 --out " + dir + "/x",
		"--parts is sparsity, which needs --data": " --results " + empty + " --parts sparsity --out " + dir +
			"/x",
		"results is empty": " --results " + empty + " --out " + dir + "/x",
		"both --results " + empty + " and --methods vng": " --results " + empty + " --methods vng --out " + dir +
			"/x",
		"--rounds is for method learned, not solved": tiny +
			" --methods solved --parts sparsity --rounds 2 --out " + dir + "/x",
		"reading --results: open " + dir + "/nothing.json: no s": " --results " + dir + "/nothing.json --out " + dir + "/x",
	} {
		expect.Error(t, expect.ErrorOf(harness.Execute(root(), strings.Fields("report"+line)...)), want, "report%s", line)
	}
}

// The accuracy by which δ was chosen is a sum of three, at every μ; the page has their mean at the μ that was chosen.
func TestOverDelta(t *testing.T) {
	r := &mcond.Result{Snapshot: mcond.Snapshot{Mu: .1}, Mapping: graph.NewDense(20, 5), Thresholds: []mcond.Threshold{
		{Mu: 0, Delta: 0, Accuracy: 30, EntriesM: 99}, {Mu: .1, Delta: .05, Accuracy: 240, EntriesM: 12},
		{Mu: .1, Delta: 0, Accuracy: 270, EntriesM: 100}}}
	got := overDelta(r)
	want := []page.SparsityPoint{{Value: 0, Entries: 100, Accuracy: eval.Spread{Mean: 90}},
		{Value: .05, Entries: 12, Accuracy: eval.Spread{Mean: 80}}}
	if len(got.Points) != 2 || got.Points[0] != want[0] || got.Points[1] != want[1] || got.Nodes != 20 ||
		got.SyntheticNodes != 5 {
		t.Errorf("points %+v of %d×%d, want %+v of 20×5", got.Points, got.Nodes, got.SyntheticNodes, want)
	}
}

// Of the runs of a study, the page shows the first size and seed of the method learned itself.
func TestKeep(t *testing.T) {
	s := sweeps{one: study.Options{Nodes: []int{8}, Seeds: []uint64{3}}, traces: map[bool]*methods.Course{}}
	trace := func(change func(o *mcond.Options)) *methods.Course {
		l := &methods.Course{}
		change(&l.Options)
		return l
	}
	plain, random := trace(func(*mcond.Options) {}), trace(func(o *mcond.Options) { o.RandomStart = true })
	run := trainer.Options{Method: methods.Learned, Nodes: 8, Seed: 3}
	other := func(change func(o *trainer.Options)) trainer.Options {
		o := run
		change(&o)
		return o
	}
	s.keep(other(func(o *trainer.Options) { o.Seed = 4 }), plain)
	s.keep(other(func(o *trainer.Options) { o.Nodes = 9 }), plain)
	s.keep(other(func(o *trainer.Options) { o.Method = methods.GCond }), plain)
	s.keep(run, trace(func(o *mcond.Options) { o.NoStructure = true }))
	if len(s.traces) != 0 {
		t.Fatalf("%d runs are kept, want none", len(s.traces))
	}
	s.keep(run, plain)
	s.keep(run, trace(func(*mcond.Options) {}))
	s.keep(run, random)
	if s.traces[false] != plain || s.traces[true] != random {
		t.Error("not the first run of each start is kept")
	}
}
