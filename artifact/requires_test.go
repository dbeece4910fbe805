package artifact_test

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/schema"
	"rivulet/test/expect"
)

// named is a bundle whose five positions are a number and a category.
func named(t *testing.T) *artifact.Bundle {
	t.Helper()
	s, err := schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[` +
		`{"name":"age","kind":"number","missing":"column","mean":[1.5]},` +
		`{"name":"country","kind":"category","missing":"zero","categories":["DE","FR"]}]}`))
	expect.OK(t, err)
	b := artifacttest.Bundle(1, artifacttest.Size{Features: s.Width()})
	b.Schema = s
	return b
}

func TestSchemaIsAPartOfFormat2(t *testing.T) {
	b := named(t)
	got, files, part := roundTrip(t, b)
	if text, _ := b.Schema.MarshalJSON(); !bytes.Equal(files["schema.json"], text) {
		t.Errorf("schema.json is %s", files["schema.json"])
	}
	for _, of := range []*artifact.Bundle{got, part} {
		if of.Schema == nil || of.Schema.Hash() != b.Schema.Hash() {
			t.Errorf("the schema read is %v", of.Schema)
		}
		if m := of.Manifest; m.FormatVersion != 2 || !slices.Equal(m.Requires, []string{"schema.json"}) {
			t.Errorf("format %d requires %q", m.FormatVersion, m.Requires)
		}
	}
}

func TestPartsRefused(t *testing.T) {
	b := named(t)
	good := readAll(t, mustWrite(t, b))
	wantManifestErrors(t, good, []manifestFault{
		{`"schema.json"
  ],`, `"schema.json", "other.json"
  ],`, `requires[1] is "other.json", which this build does not know: use a newer build, and update consumers ` +
			`before trainers`},
		{`"schema.json"
  ],`, `"schema.json", "schema.json"
  ],`, `requires[1] is "schema.json", which is there twice`},
		{`"schema.json"
  ],`, `
  ],`, `files lists "schema.json", which requires does not name`},
		{`"format_version": 2`, `"format_version": 1`, `requires[0] is "schema.json" in format_version 1, want 2`},
	})
	b = named(t)
	b.Schema, _ = schema.Parse(
		[]byte(`{"schema_version":1,"seed":0,"features":[{"name":"a","kind":"bool","missing":"zero","mean":[0]}]}`))
	wantError(t, b.Seal(), "schema.json", "features have 1 positions, data.features is 5")
}

// A task of numbers stands in the manifest, and in requires, where a reader that does not know it refuses the artifact
// by its name. It has an interval for each output, and no part that is of classes.
func TestTaskOfManifests(t *testing.T) {
	numbers := func() *artifact.Bundle {
		return artifacttest.Numbers(artifacttest.Bundle(1, artifacttest.Size{Classes: 2}))
	}
	good := readAll(t, mustWrite(t, numbers()))
	b, err := artifact.DecodeAll(good)
	expect.OK(t, err)
	if m := b.Manifest; m.Task != target.Number || !slices.Equal(m.Models[0].Radius, []float64{1, 2}) ||
		m.FormatVersion != 2 || !slices.Equal(m.Requires, []string{"task:number"}) {
		t.Errorf("task %q, format %d requires %q", m.Task, m.FormatVersion, m.Requires)
	}
	wantManifestErrors(t, good, []manifestFault{
		{`"task": "number"`, `"task": "order"`, `task is "order", which this build does not know: use a newer build`},
		{`"task:number"`, `"task:order"`, `requires[0] is "task:order", which this build does not know: use a newer build`},
		{`"task": "number",`, ``, `models[0].radius has 2 values, want 0 of task classes`},
		{`"requires": [
    "task:number"
  ],`, ``, `task is "number", which requires does not name`},
	})
	for want, change := range map[string]func(b *artifact.Bundle){
		"want a finite number":      func(b *artifact.Bundle) { b.Manifest.Models[0].Radius[1] = math.Inf(1) },
		"radius has 1 values":       func(b *artifact.Bundle) { b.Manifest.Models[0].Radius = []float64{1} },
		"which are of classes, and": func(b *artifact.Bundle) { b.Manifest.Models[0].Own.Exponents.Few = 1 },
	} {
		b := numbers()
		change(b)
		wantError(t, b.Seal(), "manifest.json", want)
	}
}

// A task of links has candidates, and no other has; their vectors are as long as the model has outputs.
func TestCandidates(t *testing.T) {
	links := func() *artifact.Bundle {
		return artifacttest.Links(artifacttest.Bundle(1, artifacttest.Size{Classes: 2}))
	}
	good := readAll(t, mustWrite(t, links()))
	b, err := artifact.DecodeAll(good)
	expect.OK(t, err)
	if m, want := b.Manifest, links().Candidates; m.Task != target.Links || m.FormatVersion != 2 ||
		!slices.Equal(m.Requires, []string{"candidates.safetensors", "task:links"}) ||
		!slices.Equal(b.Candidates.IDs, want.IDs) || !slices.Equal(b.Candidates.Vectors.Data, want.Vectors.Data) {
		t.Errorf("task %q requires %q, candidates %+v", m.Task, m.Requires, b.Candidates)
	}
	wantManifestErrors(t, good, []manifestFault{
		{`"candidates.safetensors",`, ``, `files lists "candidates.safetensors", which requires does not name`},
	})
	for want, change := range map[string]func(b *artifact.Bundle){
		"missing, the task is links":    func(b *artifact.Bundle) { b.Candidates = nil },
		"is there, the task is classes": func(b *artifact.Bundle) { b.Manifest.Task = target.Classes },
		"has no candidate":              func(b *artifact.Bundle) { b.Candidates.IDs = nil },
		"tensor vectors":                func(b *artifact.Bundle) { b.Candidates.Vectors = graph.NewDense(2, 3) },
		"ids[1] is":                     func(b *artifact.Bundle) { b.Candidates.IDs = []string{"a", "a"} },
	} {
		b := links()
		change(b)
		wantError(t, b.Seal(), "candidates.safetensors", want)
	}
}

// A task of labels has a temperature for each label, and may have a threshold.
func TestTaskOfLabelsOfManifests(t *testing.T) {
	labels := func() *artifact.Bundle {
		return artifacttest.Labels(artifacttest.Bundle(1, artifacttest.Size{Classes: 2}))
	}
	good := readAll(t, mustWrite(t, labels()))
	b, err := artifact.DecodeAll(good)
	expect.OK(t, err)
	if m := b.Manifest; m.Task != target.Labels || !slices.Equal(m.Models[0].Temperatures, []float32{1, 2}) ||
		m.FormatVersion != 2 || !slices.Equal(m.Requires, []string{"task:labels"}) {
		t.Errorf("task %q, format %d requires %q", m.Task, m.FormatVersion, m.Requires)
	}
	wantManifestErrors(t, good, []manifestFault{
		{`"task": "labels",`, ``, `models[0].temperatures has 2 values, want 0 of task classes`},
		{`"task": "labels"`, `"task": "number"`, `models[0]`},
	})
	for want, change := range map[string]func(b *artifact.Bundle){
		"want a positive number":    func(b *artifact.Bundle) { b.Manifest.Models[0].Temperatures[1] = 0 },
		"radius has 1 values":       func(b *artifact.Bundle) { b.Manifest.Models[0].Radius = []float64{1} },
		"which are of classes, and": func(b *artifact.Bundle) { b.Manifest.Models[0].Own.Exponents.Few = 1 },
	} {
		b := labels()
		change(b)
		wantError(t, b.Seal(), "manifest.json", want)
	}
}

// manifestFault replaces a text of a manifest, and says what the error must have.
type manifestFault struct{ old, new, want string }

// wantManifestErrors decodes an artifact once with each fault.
func wantManifestErrors(t *testing.T, good map[string][]byte, faults []manifestFault) {
	t.Helper()
	for _, f := range faults {
		files := maps.Clone(good)
		text := strings.Replace(string(files["manifest.json"]), f.old, f.new, 1)
		if text == string(files["manifest.json"]) {
			t.Fatalf("%s has no %s", text, f.old)
		}
		files["manifest.json"] = []byte(text)
		artifact.Resign(files)
		_, err := artifact.DecodeAll(files)
		wantError(t, err, "manifest.json", f.want)
	}
}
