package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/internal/cli"
	"rivulet/test/expect"
)

// small is a shape that takes no time.
func small(words int) Shape {
	return Shape{Name: "small", Original: 300, Entries: 2_000, Synthetic: 20, Features: 30, Classes: 4,
		Words: words, Edges: 5, Strangers: 2}
}

// smallRun is a run on a shape, and its report.
func smallRun(t *testing.T, shape Shape, models ...string) *suite {
	t.Helper()
	o := Options{Models: models, Time: time.Millisecond, Progress: &cli.Lines{W: &bytes.Buffer{}}}
	architectures, err := o.architectures()
	expect.OK(t, err)
	return &suite{Options: o, report: &Report{}, shapes: []Shape{shape}, models: architectures}
}

func names(r *Report) (out []string) {
	for _, row := range r.Rows {
		out = append(out, row.Name)
	}
	return out
}

func TestShapesAreThoseOfThePresets(t *testing.T) {
	for _, s := range Shapes() {
		if s.Synthetic >= s.Original || s.Edges < 1 || s.Words > s.Features {
			t.Errorf("%+v", s)
		}
		if got, err := ShapeNamed(s.Name); err != nil || got != s {
			t.Errorf("ShapeNamed(%q) = %+v, %v", s.Name, got, err)
		}
	}
}

func TestAnArtifactOfAShape(t *testing.T) {
	for _, words := range []int{0, 7} {
		shape := small(words)
		b, err := shape.Bundle(architecture.Plain())
		expect.OK(t, err)
		again, err := shape.Bundle(architecture.Plain())
		if err != nil || again.Manifest.Version != b.Manifest.Version {
			t.Errorf("drawn twice it is %s and %s (%v)", b.Manifest.Version, again.Manifest.Version, err)
		}
		if len(b.Models) != len(architecture.Plain()) || b.Mapping.Rows.NNZ() != shape.Original*mapEntries {
			t.Errorf("%d models, %d entries of M", len(b.Models), b.Mapping.Rows.NNZ())
		}
	}
}

func TestTheOriginalGraphIsSymmetric(t *testing.T) {
	shape := small(0)
	m := shape.original()
	expect.OK(t, m.Validate())
	if n := m.NNZ(); n > shape.Entries || n < shape.Entries/2 {
		t.Errorf("%d entries, about %d are wanted", n, shape.Entries)
	}
	back := m.Transpose()
	for i := range m.Rows {
		a, _ := m.Row(i)
		b, _ := back.Row(i)
		if !slices.Equal(a, b) || slices.Contains(a, int32(i)) || !slices.IsSorted(a) ||
			len(slices.Compact(slices.Clone(a))) != len(a) {
			t.Fatalf("row %d is %v, column %v", i, a, b)
		}
	}
}

func TestArrivalsAsTheyComeOverTheWire(t *testing.T) {
	for _, words := range []int{0, 7} {
		shape := small(words)
		for i, e := range shape.events(9) {
			if err := e.Check(shape.Features, 100); err != nil {
				t.Errorf("arrival %d: %v", i, err)
			}
			if n := len(e.Edges); n < 1+shape.Strangers || n > shape.Edges+shape.Strangers ||
				e.Features.Sparse != (words > 0) {
				t.Errorf("arrival %d: %+v", i, e)
			}
		}
	}
}

// Compared sides answer the same: the neighbourhood as the whole graph does, and one arrival of a model of two layers
// on T's tables as joined to T, up to the parts that frozen attachment leaves out.
func TestRivalsAnswerTheSameArrivals(t *testing.T) {
	shape := small(0)
	models := []string{"sgc", "gcn", "sage"}
	b := smallRun(t, shape, models...)
	bundle, err := shape.Bundle(b.models)
	expect.OK(t, err)
	adj := shape.original()
	for _, a := range b.models {
		r, err := newRivalry(&shape, bundle, adj, a)
		expect.OK(t, err)
		batch := shape.arrivals(shape.rng("test"), 6).onOriginal(shape.Original)
		answers := map[string]*graph.Dense{}
		for _, on := range r.on {
			_, answers[on.name] = on.by.Predict(batch)
		}
		if d := furthest(answers[near], answers[whole]); d > 1e-5 {
			t.Errorf("%s: neighbourhood and Whole differ by %g", a.Name, d)
		}
		if d := furthest(answers[cached], answers[whole]); d > 0.5 || d == 0 {
			t.Errorf("%s: T's tables and Whole differ by %g", a.Name, d)
		}
	}
}

func furthest(a, b *graph.Dense) float64 {
	d := 0.0
	for k, v := range a.Data {
		d = max(d, math.Abs(float64(v-b.Data[k])))
	}
	return d
}

func TestCoreAndRivalsHaveARowForEachCase(t *testing.T) {
	b := smallRun(t, small(7), "sgc", "gcn")
	for _, measure := range []func(context.Context) error{b.kernels, b.core, b.rivals} {
		expect.OK(t, measure(t.Context()))
	}
	want := []string{"small/1000x30x4/row-stable", "small/1000x30x256/plain", "small/sgc/batch=1/frozen",
		"small/gcn/batch=1000/joint", "small/sgc/batch=10/frozen",
		"small/sgc/batch=1/Whole", "small/gcn/batch=1000/cached", "small/gcn/batch=1000/neighbourhood",
		"small/sgc/batch=1000/S"}
	got := names(b.report)
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not among %q", name, got)
		}
	}
	if want := 6 + 2*6 + 2*2*4; len(got) != want {
		t.Errorf("%d rows, want %d", len(got), want)
	}
	for _, row := range b.report.Rows {
		if row.Runs < rounds || row.Figures["µs/batch"] <= 0 {
			t.Errorf("%+v", row)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.core(cancelled); err == nil {
		t.Error("core goes on after the end")
	}
}

func TestInTurnGivesEachSideItsRounds(t *testing.T) {
	var prepared, ran, inputs int
	sides := []side{
		{name: "a", prepare: func(k int) { prepared = k }, run: func(k int) {
			if prepared != k {
				t.Errorf("input %d was prepared for run %d", prepared, k)
			}
			ran++
		}},
		{name: "b", run: func(k int) {
			if k != inputs {
				t.Errorf("input %d, want %d", k, inputs)
			}
			inputs++
			time.Sleep(time.Millisecond)
		}},
	}
	got := inTurn(5*time.Millisecond, sides)
	if got[0].runs != ran-1 || got[1].runs != inputs-1 || got[1].runs < rounds { // the first is not counted
		t.Errorf("%d and %d runs, %d and %d were made", got[0].runs, got[1].runs, ran, inputs)
	}
	if m := got[1].median(); m < 1e-3 {
		t.Errorf("a run that sleeps for a millisecond takes %g s", m)
	}
	if r, _ := ratios(&got[1], &got[0]); r < 2 {
		t.Errorf("the ratio to nothing is %g", r)
	}
	if q := quotients([]float64{6, 1}, []float64{2, 4}); !slices.Equal(q, []float64{3, 0.25}) {
		t.Errorf("quotients %v", q)
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{3, 9, 1, 2, 5}); got != 3 {
		t.Errorf("median %g", got)
	}
	if got := median([]int(nil)); got != 0 {
		t.Errorf("median of none %d", got)
	}
}

func TestTheFormsOfAReport(t *testing.T) {
	r := &Report{Machine: Machine{CPU: "A processor", Vectors: []string{"avx2"}, Cores: 2, OS: "linux",
		Arch: "amd64", Go: "go1", Commit: "abc"}, Seconds: 0.2}
	r.add(Core, "flickr/sgc/batch=10/frozen", 12, map[string]float64{"nodes/s": 123456.7, "µs/batch": 81})
	r.add(rivals, "flickr/sgc/batch=10/Whole", 5, map[string]float64{"times S": 17.25, "µs/batch": 0.5})
	var text, object, lines bytes.Buffer
	for _, err := range []error{r.Print(&text), r.WriteJSON(&object), r.WriteBenchmarks(&lines)} {
		expect.OK(t, err)
	}
	if !strings.HasPrefix(text.String(), "A processor (avx2), 2 cores, linux/amd64, go1, commit abc\n\ncore ") ||
		!regexp.MustCompile(`(?m)^flickr/sgc/batch=10/Whole +0\.5 +17\.2 *$`).MatchString(text.String()) {
		t.Errorf("the table is\n%s", &text)
	}
	var back Report
	if err := json.Unmarshal(object.Bytes(), &back); err != nil || len(back.Rows) != 2 ||
		back.Rows[0].Figures["nodes/s"] != 123456.7 || back.Machine.Cores != 2 {
		t.Errorf("the object is %s (%v)", &object, err)
	}
	if want := "BenchmarkRivals/flickr/sgc/batch=10/Whole-2 5 0.5 µs/batch 17.25 times-S\n"; !strings.HasSuffix(
		lines.String(), want) ||
		!strings.HasPrefix(lines.String(), "goos: linux\ngoarch: amd64\npkg: rivulet/internal/bench\ncpu: A processor\n") {
		t.Errorf("the lines are\n%swant the last %s", &lines, want)
	}
}
