package serving

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/artifact/baseline"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/mapping"
	"rivulet/test/expect"
)

// several returns a sealed artifact of all models, its SGC with tables of features, all with a confidence except
// sgc's ep.
func several(t *testing.T, version string) *artifact.Bundle {
	t.Helper()
	b := artifacttest.Several(4, artifacttest.Size{Nodes: 300, Synthetic: 12, Features: 7, Classes: 4})
	b.Models[0].Features = artifacttest.Features(b)
	for k := range b.Manifest.Models {
		b.Manifest.Models[k].Calibration.Confidence = artifacttest.Confidence()
	}
	lp := b.Manifest.Models[0].Propagation["lp"]
	lp.Confidence = baseline.Confidence{Curve: []baseline.CoveragePoint{{Coverage: 0.5, Threshold: 0.8},
		{Coverage: 1, Threshold: 0.2}}}
	b.Manifest.Models[0].Propagation["lp"] = lp
	return sealed(t, b, version)
}

// attached returns a graph batch of n arrivals on S of a bundle.
func attached(b *artifact.Bundle, n int) *attach.Batch {
	neighbours := make([][]attach.Row, n)
	for i := range neighbours {
		for j := range 3 {
			cols, vals := b.Mapping.Rows.Row(5*i + j)
			neighbours[i] = append(neighbours[i], attach.Row{Known: true, Cols: cols, Vals: vals})
		}
	}
	r, known := attach.Attach(neighbours, b.Manifest.SyntheticNodes)
	x := graph.NewDense(n, b.Manifest.Data.Features)
	for k := range x.Data {
		x.Data[k] = float32(k%5) - 1.5
	}
	pair := graph.NewCSR(n, n, []graph.Edge{{Row: 0, Col: 1, Val: 1}, {Row: 1, Col: 0, Val: 1}})
	return &attach.Batch{X: graph.Features{Dense: x}, R: r, Known: known, Adj: pair}
}

// Every model, attached in each way, embeds as the numeric core does when it is called by hand.
func TestEmbed(t *testing.T) {
	b := several(t, "v1")
	batch := attached(b, 4)
	for k, made := range b.Models {
		model, err := infer.Build(made.Name, made.Params)
		expect.OK(t, err)
		frozen := artifacttest.Model(b, 0).FrozenFeatures(b.Models[0].Features, &b.Preprocess)
		if k > 0 {
			frozen = model.Frozen(made.Tables, &b.Preprocess).(infer.Embedder)
		}
		joint := model.Joint(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X), &b.Preprocess).(infer.Embedder)
		for attachment, want := range map[string]infer.Embedder{"frozen": frozen, "joint": joint} {
			v := inMemory(t, b, Options{Model: made.Name, Attachment: attachment, Representation: RepresentEmbedding})
			if v.Representation() != RepresentEmbedding {
				t.Errorf("%s: representation is %q", made.Name, v.Representation())
			}
			if diff := cmp.Diff(want.Embeddings(batch), v.Embedder().Embeddings(batch)); diff != "" {
				t.Errorf("%s, %s: embeddings differ (-by hand +served):\n%s", made.Name, attachment, diff)
			}
		}
	}
}

// Tables of features travel to consumers with the model: a version from Redis embeds as the artifact in memory does.
func TestEmbedThroughRedis(t *testing.T) { onRedis(t, testEmbedThroughRedis) }

func testEmbedThroughRedis(t *testing.T, s *server) {
	b := several(t, "v1")
	b.Spread = artifacttest.Spread(4, b)
	b = sealed(t, b, "v2")
	s.publish(t, b)
	for _, key := range s.keys(t) {
		if strings.Contains(key, "spread") {
			t.Errorf("the spread was published: %s", key)
		}
	}
	w, err := NewWatcher(s.client, WatcherOptions{Prefix: s.prefix, Consumer: "a", CacheBytes: 1 << 20, Clock: newSteps(),
		Log: slog.New(slog.DiscardHandler), Serve: Options{Representation: RepresentEmbedding, Coverage: 0.75}})
	expect.OK(t, err)
	expect.OK(t, w.poll(t.Context()))
	batch := attached(b, 4)
	want := artifacttest.Model(b, 0).FrozenFeatures(b.Models[0].Features, &b.Preprocess).Embeddings(batch)
	if diff := cmp.Diff(want, w.Current().Embedder().Embeddings(batch)); diff != "" {
		t.Errorf("embeddings differ (-artifact +served):\n%s", diff)
	}
	if got := w.Current().Info().Threshold; got != 0.6 {
		t.Errorf("threshold is %v, want the artifact's 0.6", got)
	}
}

// An artifact that lacks the configured representation is refused, and the previous one goes on serving.
func TestWatcherRefusesWhatCannotEmbed(t *testing.T) { onRedis(t, testWatcherRefusesWhatCannotEmbed) }

func testWatcherRefusesWhatCannotEmbed(t *testing.T, s *server) {
	s.publish(t, several(t, "v1"))
	log := &lines{}
	w, err := NewWatcher(s.client, WatcherOptions{Prefix: s.prefix, Consumer: "a", CacheBytes: 1 << 20, Clock: newSteps(),
		Log: slog.New(slog.NewTextHandler(log, nil)), Serve: Options{Representation: RepresentEmbedding}})
	expect.OK(t, err)
	mustServe(t, w, "v1")
	s.publish(t, bundle(t, 2, "v2")) // without tables of features
	_ = tick(t, w)
	if got := w.Current().ID(); got != "v1" {
		t.Errorf("%s is served, want v1", got)
	}
	if text := strings.Join(log.take(), "\n"); !strings.Contains(text, "v2") ||
		!strings.Contains(text, "trainer train --representation") {
		t.Errorf("the log does not say what is missing:\n%s", text)
	}
}

func TestThreshold(t *testing.T) {
	b := several(t, "v1")
	for _, tc := range []struct {
		options Options
		want    float32
	}{
		{Options{}, 0},
		{Options{Coverage: 0.75}, 0.6},
		{Options{Coverage: 0.5, Calibration: "lp"}, 0.8},
		{Options{Coverage: 1, Calibration: "lp"}, 0.2},
		{Options{Coverage: 0.75, Model: "gcn"}, 0.6},
	} {
		if got := inMemory(t, b, tc.options).Info().Threshold; got != tc.want {
			t.Errorf("%+v: threshold is %v, want %v", tc.options, got, tc.want)
		}
	}
	_, _, err := New(b, mapping.FromArtifact(b.Mapping), Options{Coverage: 0.9, Calibration: "ep"})
	if !errors.Is(err, baseline.ErrNoCurve) ||
		!strings.Contains(fmt.Sprint(err), `model sgc: a threshold for coverage 0.9 of probabilities with calibration "ep"`) {
		t.Errorf("without a curve: %v", err)
	}
}

func TestNewRefusesOutputs(t *testing.T) {
	plain := bundle(t, 1, "v1")
	for want, o := range map[string]Options{
		`representation is "rank", want "none", "logits" or "embedding"`:           {Representation: "rank"},
		`representation is "embedding", and a frozen sgc needs tables of features`: {Representation: RepresentEmbedding},
		`coverage is 1.5, want 0 to 1`:                                             {Coverage: 1.5},
		`coverage is -1, want 0 to 1`:                                              {Coverage: -1},
		`calibration "none": the artifact has no risk-coverage curve`:              {Coverage: 1},
	} {
		_, _, err := New(plain, mapping.FromArtifact(plain.Mapping), o)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "artifact v1") {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
	low := several(t, "v2")
	_, _, err := New(low, mapping.FromArtifact(low.Mapping), Options{Coverage: 0.2})
	if err == nil || !strings.Contains(err.Error(),
		"coverage is 0.2, the artifact's risk-coverage curve goes from 0.5 to 1") {
		t.Errorf("below the curve: %v", err)
	}
	if v := inMemory(t, plain, Options{Attachment: "joint", Representation: RepresentEmbedding}); v.Embedder().Embeddings(attached(plain,
		3)).Cols != 7 {
		t.Error("a joint sgc does not embed into the features' width")
	}
	if inMemory(t, plain, Options{Representation: RepresentLogits}).Embedder() != nil {
		t.Error("a version that was not made for embeddings has them")
	}
}
