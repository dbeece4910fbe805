package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/internal/cli"
	"rivulet/internal/replay"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// bound is the least that a ratio of a report may be.
type bound struct {
	section, name, unit string
	least               float64
}

// String names the ratio.
func (b bound) String() string { return fmt.Sprintf("%s %s, %s", b.section, b.name, b.unit) }

// bounds compare CPU time, which other work on a machine changes least: with twenty times more work than it could do,
// shares of CPU time moved by a third and shares of the clock by a factor of three. Each bound is at most about half of
// the least ratio measured there.
var bounds = []bound{
	{kernels, "flickr/1000x500x256/row-stable", "plain's CPU", 3},
	{kernels, "flickr/1000x500x256/fast", "plain's CPU", 2},
	{rivals, "flickr/sgc/batch=1/Whole", "CPU times S", 500},
	{rivals, "flickr/sgc/batch=1000/Whole", "CPU times S", 3},
	{rivals, "flickr/sgc/batch=1000/cached", "CPU times S", 0.25},
	{rivals, "flickr/gcn/batch=1000/Whole", "CPU times S", 8},
	{rivals, "flickr/gcn/batch=1000/neighbourhood", "CPU times S", 2.5},
	{Stream, "flickr/json/consumer-of-passthrough", "CPU share", 0.2},
	{Stream, "flickr/protobuf/consumer-of-passthrough", "CPU share", 0.2},
	{Stream, "flickr/json/passthrough-of-franz-go", "CPU share", 0.8},
	{Stream, "flickr/protobuf/passthrough-of-franz-go", "CPU share", 0.8},
}

// TestRatiosToRivals is make benchcheck: it measures serving and its rivals in one run, in less than a minute, prints
// the tables, and fails where a ratio is below its bound. RIVULET_TEST_RATIOS=1 asks for it, and RIVULET_TEST_SHAPES,
// RIVULET_TEST_MODELS and RIVULET_TEST_TIME for other figures, which have no bounds.
func TestRatiosToRivals(t *testing.T) {
	if os.Getenv("RIVULET_TEST_RATIOS") == "" {
		t.Skip("RIVULET_TEST_RATIOS is not set: make benchcheck")
	}
	dir := t.TempDir()
	expect.OK(t, harness.Build(t.Context(), dir))
	o := Options{Shapes: words("RIVULET_TEST_SHAPES", "flickr"), Models: words("RIVULET_TEST_MODELS", "sgc,gcn")}
	var err error
	o.Time, err = time.ParseDuration(words("RIVULET_TEST_TIME", "100ms")[0])
	expect.OK(t, err)
	o.Progress, o.Services = cli.Stderr(), func(ctx context.Context) (*Services, error) {
		return Embedded(ctx, filepath.Join(dir, "rivulet"))
	}
	b, err := newSuite(o)
	expect.OK(t, err)
	for _, measure := range []func(context.Context) error{b.kernels, b.rivals, b.streamRivals} {
		expect.OK(t, measure(t.Context()))
	}
	o.Progress.Done()
	expect.OK(t, b.report.Print(os.Stdout))
	if os.Getenv("RIVULET_TEST_SHAPES") == "" && os.Getenv("RIVULET_TEST_MODELS") == "" {
		expect.OK(t, judge(b.report, bounds))
	}
}

// words are the words of a variable of the environment, or others if it is empty.
func words(variable, otherwise string) []string {
	return strings.Split(cmp.Or(os.Getenv(variable), otherwise), ",")
}

// judge returns an error that names each ratio below its bound, or not in the report, and by how much.
func judge(r *Report, bounds []bound) error {
	var failed []error
	for _, b := range bounds {
		got, ok := r.figure(b)
		switch {
		case !ok:
			failed = append(failed, fmt.Errorf("%s: it was not measured, want at least %s", b, short(b.least)))
		case !(got >= b.least): // NaN too
			failed = append(failed, fmt.Errorf("%s: %s, want at least %s: it is %.0f%% below", b, short(got),
				short(b.least), 100*(1-got/b.least)))
		}
	}
	return errors.Join(failed...)
}

// figure finds the figure of a bound.
func (r *Report) figure(b bound) (float64, bool) {
	for _, row := range r.Rows {
		if row.Section == b.section && row.Name == b.name {
			v, ok := row.Figures[b.unit]
			return v, ok
		}
	}
	return 0, false
}

// A ratio that is below its bound, no number or missing is named.
func TestJudge(t *testing.T) {
	r := &Report{}
	r.add(rivals, "a", 5, map[string]float64{"times S": 9})
	r.add(Stream, "b", 3, map[string]float64{"share": 0.2})
	r.add(Stream, "c", 3, map[string]float64{"share": math.NaN()})
	enough := []bound{{rivals, "a", "times S", 9}, {Stream, "b", "share", 0.1}}
	if err := judge(r, enough); err != nil {
		t.Errorf("ratios at and above their bounds: %v", err)
	}
	err := judge(r, append(enough, bound{rivals, "a", "times S", 12}, bound{Stream, "c", "share", 0.1},
		bound{Core, "d", "share", 1}))
	if err == nil {
		t.Fatal("three ratios are below their bounds, and nothing is said")
	}
	want := []string{"rivals a, times S: 9.00, want at least 12.0: it is 25% below",
		"stream c, share: NaN, want at least 0.1: it is NaN% below",
		"core d, share: it was not measured, want at least 1.00"}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The inputs of section core can be written for rivals in other languages: the artifact of a shape, and 4,000 arrivals
// of it as JSON lines. RIVULET_TEST_SAVE names a directory for them, RIVULET_TEST_SHAPES the shape (tools/peer).
func TestInputsForPeers(t *testing.T) {
	dir := cmp.Or(os.Getenv("RIVULET_TEST_SAVE"), t.TempDir())
	b, err := newSuite(Options{Shapes: words("RIVULET_TEST_SHAPES", "pubmed"), Models: words("RIVULET_TEST_MODELS", "sgc,gcn"),
		Time: 1})
	expect.OK(t, err)
	shape := b.shapes[0]
	bundle, err := shape.Bundle(b.models)
	expect.OK(t, err)
	expect.OK(t, artifact.Write(filepath.Join(dir, "artifact"), bundle))
	var lines bytes.Buffer
	expect.OK(t, (&replay.Lines{W: &lines}).Send(t.Context(), shape.events(4_000)))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "arrivals.jsonl"), lines.Bytes(), 0o600))
	read, err := artifact.Read(filepath.Join(dir, "artifact"))
	if err != nil || read.Manifest.SyntheticNodes != shape.Synthetic || read.Manifest.DefaultModel != b.models[0].Name {
		t.Errorf("%+v, %v", read, err)
	}
}
