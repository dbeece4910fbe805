package artifact_test

import (
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/test/expect"
)

const growthName = "growth.safetensors"

func withGrowth(seed uint64) *artifact.Bundle {
	b := artifacttest.Several(seed, artifacttest.Size{})
	b.Growth = artifacttest.Growth(seed, b)
	return b
}

// Growth is read as it was written, and is a part of what is served.
func TestGrowthIsReadAndServed(t *testing.T) {
	b := withGrowth(1)
	read, files, served := roundTrip(t, b)
	if diff := cmp.Diff(b, read); diff != "" {
		t.Errorf("read differs from written (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(b.Growth, served.Growth); diff != "" {
		t.Errorf("growth of the serving part (-written +served):\n%s", diff)
	}

	// An artifact of before is served without.
	delete(files, growthName)
	served, err := artifact.DecodeServing(files)
	if err != nil || served.Growth != nil {
		t.Errorf("a serving part without growth: %v, %v", served.Growth, err)
	}
	if _, err := served.Grower(nil); !errors.Is(err, artifact.ErrNoGrowth) {
		t.Errorf("rows of arrivals without a dictionary: %v", err)
	}
}

// Rows are the same whichever model is served and deployed already, and those of fewer models' messages are others.
func TestGrowerSolvesForAllModels(t *testing.T) {
	b := withGrowth(2)
	expect.OK(t, b.Validate())
	batch := &attach.Batch{X: graph.Features{Dense: artifacttest.Growth(9, b).Dictionary}, Known: []int32{2}}
	batch.X.Dense = &graph.Dense{Rows: 1, Cols: 5, Data: batch.X.Dense.Data[:5]}
	batch.R = &graph.CSR{Rows: 1, Cols: 6, RowPtr: []int{0, 2}, ColIdx: []int32{1, 4}, Val: []float32{0.5, 2}}
	grow := func(b *artifact.Bundle, deployed map[string]infer.Deployment) attach.Row {
		t.Helper()
		g, err := b.Grower(deployed)
		expect.OK(t, err)
		return g.Grow(batch).Row(0)
	}
	all := grow(b, nil)
	gcn, err := infer.Build("gcn", b.Models[1].Params)
	expect.OK(t, err)
	served := map[string]infer.Deployment{"gcn": gcn.Frozen(b.Models[1].Tables, &b.Preprocess), "sgc": nil}
	if diff := cmp.Diff(all, grow(b, served)); diff != "" {
		t.Errorf("the row hangs on which model is deployed:\n%s", diff)
	}
	fewer := *b
	fewer.Growth = &artifact.Growth{Entries: b.Growth.Entries,
		Messages:   map[string]growth.Messages{"sgc": b.Growth.Messages["sgc"]},
		Dictionary: graph.NewDense(6, 7)}
	for i := range 6 {
		copy(fewer.Growth.Dictionary.Row(i), b.Growth.Dictionary.Row(i))
	}
	expect.OK(t, fewer.Validate())
	if cmp.Equal(all, grow(&fewer, nil)) {
		t.Error("four models more have no part in the row")
	}
}

func TestInvalidGrowth(t *testing.T) {
	change := func(g *artifact.Growth, model string, f func(m *growth.Messages)) {
		m := g.Messages[model]
		f(&m)
		g.Messages[model] = m
	}
	for want, spoil := range map[string]func(g *artifact.Growth){
		growthName + ": dictionary: 6 values of shape 2×3, want 6×": func(g *artifact.Growth) {
			g.Dictionary = graph.NewDense(2, 3)
		},
		growthName + ": dictionary: no matrix": func(g *artifact.Growth) { g.Dictionary = nil },
		growthName + ": dictionary: row 0, column 1 is NaN": func(g *artifact.Growth) {
			g.Dictionary.Data[1] = float32(math.NaN())
		},
		growthName + ": entries is 0, want 1 to 6": func(g *artifact.Growth) { g.Entries = 0 },
		growthName + ": entries is 7, want 1 to 6": func(g *artifact.Growth) { g.Entries = 7 },
		growthName + ": no messages of any model":  func(g *artifact.Growth) { clear(g.Messages) },
		growthName + `: messages of model "gat", which the`: func(g *artifact.Growth) {
			g.Messages["gat"] = g.Messages["gcn"]
		},
		growthName + ": gcn: messages of 1 tables, the model has 2": func(g *artifact.Growth) {
			change(g, "gcn", func(m *growth.Messages) { m.U = m.U[:1] })
		},
		growthName + ": sgc.u1.scale: value is -1, want": func(g *artifact.Growth) { g.Messages["sgc"].U[1].Scale = -1 },
		growthName + ": appnp.u9.scale: value is +Inf": func(g *artifact.Growth) {
			g.Messages["appnp"].U[9].Scale = float32(math.Inf(1))
		},
		growthName + ": sgc.c.scale: value is NaN": func(g *artifact.Growth) {
			change(g, "sgc", func(m *growth.Messages) { m.C.Scale = float32(math.NaN()) })
		},
		growthName + ": sage.u0.factor: 15 values of shape 5×3, want 4×3": func(g *artifact.Growth) {
			g.Messages["sage"].U[0].Factor = graph.NewDense(5, 3)
		},
		growthName + ": cheby.c.factor: row 0, column 0 is -Inf": func(g *artifact.Growth) {
			g.Messages["cheby"].C.Factor.Data[0] = float32(math.Inf(-1))
		},
	} {
		b := withGrowth(3)
		spoil(b.Growth)
		wantError(t, b.Seal(), want)
	}
	b := withGrowth(3)
	b.Models[1].Tables, b.Manifest.Models[1].Attachment = nil, artifact.AttachJoint
	wantError(t, b.Seal(), growthName+`: messages of model "gcn", which has no frozen tables`)
}

// What a file says of its shapes is compared, tensor by tensor; tensors that nobody knows are left alone.
func TestDecodeRefusesGrowthOfOtherShapes(t *testing.T) {
	for want, change := range map[string]func(g *artifact.Growth){
		`tensor "dictionary" has shape [5 `:           func(g *artifact.Growth) { g.Dictionary = graph.NewDense(5, 3) },
		"dictionary: 18 values of shape 6×3, want 6×": func(g *artifact.Growth) { g.Dictionary = graph.NewDense(6, 3) },
		"gcn: messages of 3 tables, the model has 2":  func(g *artifact.Growth) { grown(g, "gcn") },
		`entries is -4, want 1 to 6`:                  func(g *artifact.Growth) { g.Entries = -4 },
		"appnp.u3.factor: 6 values of shape 2×3, want 3×3": func(g *artifact.Growth) {
			g.Messages["appnp"].U[3].Factor = graph.NewDense(2, 3)
		},
		"sgc.u0.factor: 0 values of shape 0×9, want 3×9": func(g *artifact.Growth) {
			g.Messages["sgc"].U[0].Factor = graph.NewDense(0, 9)
		},
		`no messages of any model`: func(g *artifact.Growth) { clear(g.Messages) },
		"sage.u1.factor: 12 values of shape 4×3, want 3×3": func(g *artifact.Growth) {
			g.Messages["sage"].U[1].Factor = graph.NewDense(4, 3)
		},
	} {
		b := withGrowth(4)
		change(b.Growth)
		wantDecodeError(t, b, growthName, want)
	}
	b := withGrowth(5)
	more := maps.Clone(b.Growth.Messages)
	more["later"] = b.Growth.Messages["sgc"]
	b.Growth.Messages = more
	files, err := artifact.EncodeUnchecked(b)
	expect.OK(t, err)
	if got, err := artifact.DecodeAll(files); err != nil || len(got.Growth.Messages) != 5 {
		t.Errorf("a part of a model that the manifest does not list: %v", err)
	}
}

// grown adds a part for a table that the model does not have.
func grown(g *artifact.Growth, model string) {
	m := g.Messages[model]
	m.U = append(m.U, growth.Part{Scale: 1})
	g.Messages[model] = m
}
