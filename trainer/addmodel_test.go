package trainer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/infer/propagation"
	"rivulet/test/expect"
	"rivulet/test/reference/convert"
	"rivulet/trainer/deploy"
	"rivulet/trainer/tables"
)

// withMeans returns an artifact of an sgc, 5 features and 3 classes, that keeps cluster means, and whose features are
// scaled.
func withMeans(t *testing.T) *artifact.Bundle {
	t.Helper()
	for seed := range uint64(100) {
		b := artifacttest.Bundle(seed, artifacttest.Size{})
		if b.Preprocess.Kind == preprocess.Standardize {
			b.Means = artifacttest.Means(seed, b)
			return b
		}
	}
	t.Fatal("no seed of a standardised artifact")
	return nil
}

// others returns the models of artifacttest by name.
func others(t *testing.T) map[string]infer.Model {
	t.Helper()
	out := map[string]infer.Model{}
	for _, m := range artifacttest.Several(1, artifacttest.Size{}).Models {
		model, err := infer.Build(m.Name, m.Params)
		expect.OK(t, err)
		out[m.Name] = model
	}
	return out
}

// A model for unscaled features answers the same for features times a scale, once its first weights are divided by it.
func TestUnscaledModelsAnswerTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	adj := convert.Pattern(convert.Graph(rng, 8, 0.4))
	x := convert.Dense(convert.Normal(rng, 8, 5, 1))
	scaled := x.Clone()
	for k := range scaled.Data {
		scaled.Data[k] *= 4
	}
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	logits := func(m infer.Model, x *graph.Dense) []float32 {
		g := deploy.Graph{Adj: adj, X: preprocess.Ready(x), Preprocess: plain, Features: graph.Features{Dense: x}}
		return g.Logits(m).Data
	}
	for name, m := range others(t) {
		before := logits(m, x)
		got, err := tables.Unscale(m, 4)
		expect.OK(t, err)
		for k, v := range logits(got, scaled) {
			if math.Abs(float64(v-before[k])) > 1e-5 {
				t.Errorf("%s: logit %d is %v of scaled features, %v of plain ones", name, k, v, before[k])
				break
			}
		}
		if !slices.Equal(logits(m, x), before) {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestAddModel(t *testing.T) {
	b, now := withMeans(t), time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	expect.OK(t, b.Seal())
	before := b.Manifest
	m := others(t)["sage"]
	expect.OK(t, tables.AddModel(b, m, preprocess.Standardize, now))
	dir := t.TempDir() + "/artifact"
	expect.OK(t, artifact.Write(dir, b))
	got, err := artifact.Read(dir)
	expect.OK(t, err)
	small, err := tables.Unscale(m, b.Preprocess.Scale)
	expect.OK(t, err)
	onS, err := tables.Later(small, b.Means)
	expect.OK(t, err)
	want := artifact.Model{Name: "sage", Params: small.Params(), Tables: onS}
	expect.Same(t, want, got.Models[1], "model")
	after := got.Manifest
	if after.Version == before.Version || !after.Created.Equal(now) || after.DefaultModel != "sgc" || !after.HasMeans() {
		t.Errorf("version %s after %s, created %v, default %s, means %v", after.Version, before.Version, after.Created,
			after.DefaultModel, after.HasMeans())
	}
	wantInfo := artifact.ModelInfo{Name: "sage", Attachment: artifact.AttachFrozen, FittedOn: "O",
		Calibration: artifact.CalibrationInfo{Kind: propagation.None, Temperature: 1}}
	expect.Same(t, []artifact.ModelInfo{before.Models[0], wantInfo}, after.Models, "models of the manifest")
	if diff := cmp.Diff(before.Metrics, after.Metrics); diff != "" {
		t.Errorf("metrics (-before +after):\n%s", diff)
	}
}

func TestAddModelRefuses(t *testing.T) {
	models := others(t)
	for want, of := range map[string]struct {
		model      infer.Model
		preprocess string
	}{
		"features are preprocessed by standardize, the model's by none": {models["gcn"], preprocess.None},
		"has a model sgc already":                        {models["sgc"], preprocess.Standardize},
		"appnp has no tables without the original graph": {models["appnp"], preprocess.Standardize},
		"cheby with K = 3 has no frozen form": {artifacttest.Cheby(rand.New(rand.NewPCG(1, 1)),
			artifacttest.Size{}, 3), preprocess.Standardize},
	} {
		b := withMeans(t)
		expect.Error(t, tables.AddModel(b, of.model, of.preprocess, time.Now()), want)
		if len(b.Models) != 1 || len(b.Manifest.Models) != 1 {
			t.Errorf("%s: a refused model was added", want)
		}
	}
}
