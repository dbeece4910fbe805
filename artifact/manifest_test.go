package artifact_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/baseline"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

func formatDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("FORMAT.md")
	expect.OK(t, err)
	return string(text)
}

// exampleManifest is the example of FORMAT.md.
func exampleManifest(t *testing.T) string {
	t.Helper()
	_, rest, ok := strings.Cut(formatDoc(t), "```json\n")
	example, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("FORMAT.md has no example manifest")
	}
	return example
}

func TestParseManifestExample(t *testing.T) {
	m, err := artifact.ParseManifest([]byte(exampleManifest(t)))
	expect.OK(t, err)
	if m.Data.Nodes != 24 || m.Models[0].Propagation["lp"].Gamma != 0.3 ||
		*m.Models[0].Calibration.Confidence.ECE.TestAfter != 2.2 || m.Metrics[0].Accuracy != 93.7 ||
		!m.Created.Equal(time.Date(2026, 11, 21, 5, 35, 40, 0, time.UTC)) || m.Files["mapping.safetensors"].Bytes != 1350 {
		t.Errorf("the example is read as %+v", m)
	}
}

// fieldNames are the fields of a manifest's type as FORMAT.md writes them.
func fieldNames(t reflect.Type, prefix string) []string {
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[target.Task](),
		t == reflect.TypeFor[baseline.Confidence]() && prefix != "confidence.":
		return nil // a confidence is described once
	case t.Kind() == reflect.Struct:
		var names []string
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			of := fieldNames(t.Field(i).Type, prefix+name+".")
			if t.Field(i).Type.Kind() != reflect.Struct || of == nil {
				names = append(names, prefix+name)
			}
			names = append(names, of...)
		}
		return names
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return fieldNames(t.Elem(), strings.TrimSuffix(prefix, ".")+"[].")
	case t.Kind() == reflect.Map:
		return fieldNames(t.Elem(), prefix+"*.")
	}
	return nil
}

func TestFormatDocumentsEveryField(t *testing.T) {
	_, text, found := strings.Cut(formatDoc(t), "\n## Manifest\n") // before it are fields of schema.json
	text, _, closed := strings.Cut(text, "\n```json\n")
	if !found || !closed {
		t.Fatal("FORMAT.md has no section Manifest with an example")
	}
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile("`([a-z0-9_.*\\[\\]]+)`").FindAllStringSubmatch(text, -1) {
		documented[name[1]] = true
	}
	tops := map[string]bool{} // fields that have others
	for _, name := range append(fieldNames(reflect.TypeFor[artifact.Manifest](), ""),
		fieldNames(reflect.TypeFor[baseline.Confidence](), "confidence.")...) {
		if !documented[name] {
			t.Errorf("FORMAT.md does not describe %s", name)
		}
		delete(documented, name)
		if top, _, nested := strings.Cut(name, "."); nested {
			tops[strings.TrimSuffix(top, "[]")] = true
		}
	}
	for name := range documented {
		top, _, nested := strings.Cut(name, ".")
		if nested && tops[strings.TrimSuffix(top, "[]")] {
			t.Errorf("FORMAT.md describes %s, which the manifest does not have", name)
		}
	}
}

// Each line of the example that is a field of its own, cut out, is missed by name.
func TestParseManifestMissingFields(t *testing.T) {
	example := exampleManifest(t)
	for field, want := range map[string]string{
		`"format_version": 1,`:                    "format_version is missing",
		`"version": "20261121T053540Z-1b6773b5",`: "version is missing",
		`"created": "2026-11-21T05:35:40Z",`:      "created is missing",
		`"created_by": "trainer 0.1.0",`:          "created_by is missing",
		`"method": "solved",`:                     "method is missing",
		`"seed": 1,`:                              "seed is missing",
		`"name": "karate",`:                       "data.name is missing",
		`"nodes": 24,`:                            "data.nodes is missing",
		`"edges": 61,`:                            "data.edges is missing",
		`"features": 5,`:                          "data.features is missing",
		`"synthetic_nodes": 4,`:                   "synthetic_nodes is missing",
		`"rows": 24, `:                            "mapping.rows is missing",
		`, "max_per_row": 4`:                      "mapping.max_per_row is missing",
		`, "scale": 2.5`:                          "preprocess.scale is missing",
		`"attachment": "frozen",`:                 "models[0].attachment is missing",
		`"fitted_on": "O",`:                       "models[0].fitted_on is missing",
		`"weight_decay": 0.001,`:                  "models[0].weight_decay is missing",
		`, "temperature": 1.1`:                    "models[0].calibration.temperature is missing",
		`, "gamma": 0.3`:                          "models[0].propagation[lp].gamma is missing",
		`"default_model": "sgc",`:                 "default_model is missing",
		`"shared_m": false, `:                     "metrics[0].shared_m is missing",
		`, "accuracy": 93.7`:                      "metrics[0].accuracy is missing",
		`, "accuracy": 99.2`:                      "models[0].calibration.confidence.curve[0].accuracy is missing",
		`"coverage": 1, `:                         "models[0].calibration.confidence.curve[1].coverage is missing",
		`, "bytes": 1350`:                         "files[mapping.safetensors].bytes is missing",
	} {
		text := strings.Replace(example, field, "", 1)
		if text == example {
			t.Errorf("the example has no %s", field)
			continue
		}
		_, err := artifact.ParseManifest([]byte(text))
		wantError(t, err, "manifest.json: "+want)
	}
}

func TestParseManifestRefuses(t *testing.T) {
	example := exampleManifest(t)
	tests := []struct{ old, new, want string }{
		{example, "", "manifest.json:"},
		{example, "null", "format_version is missing"},
		{example, "[]", "manifest.json:"},
		{`"seed": 1`, `"seed": null`, "seed is missing"},
		{`"seed": 1`, `"seed": -1`, "seed"},
		{`"seed": 1`, `"seed": 1, "seed": 2`, `duplicate object member name "seed"`},
		{`"format_version": 1`, `"format_version": 0`, "format_version is 0, want 1 or more"},
		{`"format_version": 1`, `"format_version": 7`,
			"format_version is 7, this build reads up to 2: use a newer build, and update consumers before trainers"},
		{`"format_version": 1`, `"format_version": "1"`, "format_version"},
		{`20261121T053540Z-1b6773b5`, `a b`, `version "a b" is not`},
		{`2026-11-21T05:35:40Z`, `yesterday`, "created"},
		{`2026-11-21T05:35:40Z`, `0001-01-01T00:00:00Z`, "created is zero"},
		{`trainer 0.1.0`, ``, "created_by is empty"},
		{`"solved"`, `""`, "method is empty"},
		{`"karate"`, `""`, "data.name is empty"},
		{`sha256:0f`, `md5:0f`, "data.fingerprint is"},
		{`"nodes": 24`, `"nodes": 0`, "data.nodes is 0"},
		{`"nodes": 24`, `"nodes": 23`, "mapping.rows is 24, want data.nodes, which is 23"},
		{`"nodes": 24`, `"nodes": 4294967296`, "data.nodes is 4294967296"},
		{`"edges": 61`, `"edges": -1`, "data.edges is -1"},
		{`"features": 5`, `"features": 0`, "data.features is 0"},
		{`["officer", "instructor"]`, `[]`, "data.classes is empty"},
		{`["officer", "instructor"]`, `["a", ""]`, `data.classes[1] is ""`},
		{`["officer", "instructor"]`, `["a", "a"]`, `data.classes[1] is "a", as is classes[0]`},
		{`["officer", "instructor"]`, `"a"`, "data.classes"},
		{`"synthetic_nodes": 4`, `"synthetic_nodes": 0`, "synthetic_nodes is 0, want 1 to"},
		{`"entries": 58`, `"entries": -2`, "mapping.entries is -2"},
		{`"max_per_row": 4`, `"max_per_row": 5`, "mapping.max_per_row is 5, want 0 to 4"},
		{`"name": "sgc"`, `"name": "../x"`, `models[0].name is "../x"`},
		{`"name": "sgc"`, `"name": "gcn"`, `default_model is "sgc", want one of ["gcn"]`},
		{`"attachment": "frozen"`, `"attachment": "solid"`, `models[0].attachment is "solid"`},
		{`"fitted_on": "O"`, `"fitted_on": "T"`, `models[0].fitted_on is "T"`},
		{`"weight_decay": 0.001`, `"weight_decay": -1`, "models[0].weight_decay is -1"},
		{`"kind": "none", "temperature": 1.1`, `"kind": "none", "temperature": 0`, "models[0].calibration.temperature is 0"},
		{`"kind": "none", "temperature": 1.1`, `"kind": "ep", "temperature": 1`,
			`models[0].calibration.kind is "ep", which propagation does not hold`},
		{`{"lp": {`, `{"pp": {`, "models[0].propagation.pp is not known"},
		{`"validation_after": 1.9`, `"validation_after": -1`,
			"models[0].calibration.confidence.ece.validation_after is -1, want 0 to 100"},
		{`"test_before": 5.1`, `"test_before": 100.5`, "models[0].calibration.confidence.ece.test_before is 100.5"},
		{`"coverage": 0.9`, `"coverage": 1.5`, "models[0].calibration.confidence.coverage is 1.5, want 0 to 1"},
		{`"coverage": 0.9`, `"coverage": 0`, "models[0].calibration.confidence.threshold is 0.61 without the coverage"},
		{`"threshold": 0.61`, `"threshold": -0.1`, "models[0].calibration.confidence.threshold is -0.1, want 0 to 1"},
		{`"coverage": 0.5`, `"coverage": 0`,
			"models[0].calibration.confidence.curve[0].coverage is 0, want more than 0 and at most 1"},
		{`"coverage": 1,`, `"coverage": 0.5,`,
			"models[0].calibration.confidence.curve[1].coverage is 0.5, want more than 0.5"},
		{`"coverage": 1,`, `"coverage": 1.1,`, "models[0].calibration.confidence.curve[1].coverage is 1.1"},
		{`"threshold": 0.24`, `"threshold": 0.94`, "models[0].calibration.confidence.curve[1].threshold is 0.94 after 0.93"},
		{`"threshold": 0.93`, `"threshold": 2`, "models[0].calibration.confidence.curve[0].threshold is 2"},
		{`"accuracy": 93.5`, `"accuracy": 935`, "models[0].calibration.confidence.curve[1].accuracy is 935"},
		{`"gamma": 0.3,`, `"gamma": 0.3, "confidence": {"coverage": -1},`,
			"models[0].propagation.lp.confidence.coverage is -1"},
		{`"alpha": 0.1`, `"alpha": 1`, "models[0].propagation.lp: calibration.alpha is 1"},
		{`"gamma": 0.3`, `"gamma": -1`, "models[0].propagation.lp: calibration.gamma is -1"},
		{`"O->S"`, `"O-S"`, `metrics[0].setting is "O-S"`},
		{`"batch": "node"`, `"batch": "all"`, `metrics[0].batch is "all"`},
		{`"accuracy": 93.7`, `"accuracy": 101`, "metrics[0].accuracy is 101"},
		{`"calibration": "none"`, `"calibration": ""`, `metrics[0].calibration is ""`},
		{`"batch": "node"`, `"batch": 3`, "batch"},
		{`"mapping.safetensors": {`, `"../mapping.safetensors": {`, `files has "../mapping.safetensors"`},
		{`"mapping.safetensors": {`, `"/mapping.safetensors": {`, `files has "/mapping.safetensors"`},
		{`"mapping.safetensors": {`, `"manifest.json": {`, `files has "manifest.json"`},
		{`"mapping.safetensors": {`, `"./mapping.safetensors": {`, `files has "./mapping.safetensors"`},
		{`"mapping.safetensors": {`, `"other": {`, `files does not list "mapping.safetensors"`},
		{`"sha256": "6db8`, `"sha256": "6DB8`, `files["mapping.safetensors"].sha256 is "6DB8`},
		{`"sha256": "6db8`, `"sha256": "b8`, `files["mapping.safetensors"].sha256`},
		{`"bytes": 1350`, `"bytes": -1`, `files["mapping.safetensors"].bytes is -1`},
		{`"bytes": 1350`, `"bytes": 1e99`, "bytes"},
	}
	for _, tc := range tests {
		text := strings.Replace(example, tc.old, tc.new, 1)
		if text == example {
			t.Errorf("the example has no %s", tc.old)
			continue
		}
		_, err := artifact.ParseManifest([]byte(text))
		wantError(t, err, "manifest.json", tc.want)
	}
}

// What a later build adds does not stop this one.
func TestParseManifestUnknownFields(t *testing.T) {
	text := exampleManifest(t)
	for _, change := range [][2]string{
		{`"seed": 1,`, `"seed": 1, "licence": {"name": "x", "list": [1, null]},`},
		{`"edges": 61,`, `"edges": 61, "directed": false,`},
		{`"fitted_on": "O",`, `"fitted_on": "O", "hidden": 256,`},
	} {
		text = strings.Replace(text, change[0], change[1], 1)
	}
	if _, err := artifact.ParseManifest([]byte(text)); err != nil {
		t.Error(err)
	}
}

func TestParseManifestTurnsTimeToUTC(t *testing.T) {
	text := strings.Replace(exampleManifest(t), "05:35:40Z", "06:35:40+01:00", 1)
	m, err := artifact.ParseManifest([]byte(text))
	expect.OK(t, err)
	if got := m.Created.String(); got != "2026-11-21 05:35:40 +0000 UTC" {
		t.Errorf("created is %s", got)
	}
}
