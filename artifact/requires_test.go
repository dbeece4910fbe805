package artifact_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/schema"
)

// named is a bundle whose five positions are a number and a category.
func named(t *testing.T) *artifact.Bundle {
	t.Helper()
	s, err := schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[` +
		`{"name":"age","kind":"number","missing":"column","mean":[1.5]},` +
		`{"name":"country","kind":"category","missing":"zero","categories":["DE","FR"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	b := artifacttest.Bundle(1, artifacttest.Size{Features: s.Width()})
	b.Schema = s
	return b
}

func TestSchemaIsAPartOfFormat2(t *testing.T) {
	b := named(t)
	dir := mustWrite(t, b)
	files := readAll(t, dir)
	if text, _ := b.Schema.MarshalJSON(); !bytes.Equal(files["schema.json"], text) {
		t.Errorf("schema.json is %s", files["schema.json"])
	}
	got, err := artifact.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := artifact.EncodeServing(got)
	if err != nil {
		t.Fatal(err)
	}
	part, err := artifact.DecodeServing(serving)
	if err != nil {
		t.Fatal(err)
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
	for _, tc := range []struct{ old, new, want string }{
		{`"schema.json"
  ],`, `"schema.json", "other.json"
  ],`, `requires[1] is "other.json", which this build does not know: use a newer build, and update consumers before trainers`},
		{`"schema.json"
  ],`, `"schema.json", "schema.json"
  ],`, `requires[1] is "schema.json", which is there twice`},
		{`"schema.json"
  ],`, `
  ],`, `files lists "schema.json", which requires does not name`},
		{`"format_version": 2`, `"format_version": 1`, `requires[0] is "schema.json" in format_version 1, want 2`},
	} {
		files := maps.Clone(good)
		text := strings.Replace(string(files["manifest.json"]), tc.old, tc.new, 1)
		if text == string(files["manifest.json"]) {
			t.Fatalf("%s has no %s", text, tc.old)
		}
		files["manifest.json"] = []byte(text)
		artifact.Resign(files)
		_, err := artifact.DecodeAll(files)
		wantError(t, err, "manifest.json", tc.want)
	}
	b = named(t)
	b.Schema, _ = schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[{"name":"a","kind":"bool","missing":"zero","mean":[0]}]}`))
	wantError(t, b.Seal(), "schema.json", "features have 1 positions, data.features is 5")
}
