package artifact_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/test/expect"
)

// ofWeights is a bundle with one bin of weights.
func ofWeights() *artifact.Bundle {
	b := artifacttest.Bundle(1, artifacttest.Size{})
	b.Slots = graph.Slots{Weighted: true, Upper: []float32{2.5}, Edges: []float32{1.5}}
	return b
}

// The slots of edges are a part of format 2, and are read as they were written.
func TestEdgesAreAPartOfFormat2(t *testing.T) {
	b := ofWeights()
	got, files, served := roundTrip(t, b)
	const want = "{\n  \"weighted\": true,\n  \"upper\": [\n    2.5\n  ],\n  \"edges\": [\n    1.5\n  ]\n}"
	expect.Same(t, want, string(files["edges.json"]), "edges.json")
	for _, of := range []*artifact.Bundle{got, served} {
		expect.Same(t, b.Slots, of.Slots, "slots")
		expect.Same(t, []string{"edges.json"}, of.Manifest.Requires, "requires")
	}
}

// Slots that do not fit each other, or say what this build does not know, are refused.
func TestEdgesRefused(t *testing.T) {
	good := readAll(t, mustWrite(t, ofWeights()))
	for text, want := range map[string]string{
		``:                                  "EOF",
		`null`:                              "want no such file",
		`[]`:                                "array",
		`{}`:                                "want no such file",
		`{"weighted":true`:                  "EOF",
		`{"weighted":1}`:                    "/weighted",
		`{"weighted":true,"weighted":true}`: `duplicate object member name "weighted"`,
		`{"weighted":true,"upper":[2.5],"edges":[1.5],"by":"time"}`: `unknown object member name "by"`,
		`{"Weighted":true,"upper":[2.5],"edges":[1.5]}`:             `unknown object member name "Weighted"`,
		`{"weighted":true}`:                                                  "upper is missing",
		`{"weighted":true,"upper":[2.5]}`:                                    "1 values of upper and 0 of edges",
		`{"weighted":true,"edges":[1.5]}`:                                    "0 values of upper and 1 of edges",
		`{"weighted":true,"upper":[1e39],"edges":[1.5]}`:                     "/upper/0",
		`{"weighted":true,"upper":["NaN"],"edges":[1.5]}`:                    "/upper/0",
		`{"weighted":true,"upper":[0],"edges":[0]}`:                          "bin 0 is for edges of 0 up to 0",
		`{"weighted":true,"upper":[2.5],"edges":[3]}`:                        "bin 0 is for edges of 3 up to 2.5",
		`{"weighted":true,"upper":[2.5,2.5],"edges":[1.5,2.5]}`:              "bin 1 is for edges of 2.5 up to 2.5",
		`{"upper":[2.5],"edges":[1.5],"directed":true}`:                      "bins of weights are there",
		`{"weighted":true,"upper":[2.5],"edges":[1.5],"types":["a"]}`:        "bins of weights are there",
		`{"weighted":true,"upper":[2.5],"edges":[1.5],"arriving":1}`:         "arriving is 1",
		`{"directed":true,"arriving":3}`:                                     "arriving is 3",
		`{"directed":true,"arriving":-1}`:                                    "/arriving",
		`{"directed":true,"arriving":256}`:                                   "/arriving",
		`{"types":"ab"}`:                                                     "/types",
		`{"types":["a","a"]}`:                                                `type 1 of edges is "a"`,
		`{"types":["a",""]}`:                                                 `type 1 of edges is ""`,
		`{"types":["` + strings.Repeat(`a","`, 32) + `b"],"weighted":true}`:  "33 slots, at most 32",
		`{"types":["` + strings.Repeat(`a","`, 16) + `b"],"directed": true}`: "34 slots, at most 32",
		`{"types":["a"]}`:                                                    "models/sgc.safetensors: model sgc reads no relations of edges",
		`{"directed":true}`:                                                  `models/sgc.safetensors: tensor "tables.u0" has shape [6 3], want [12`,
	} {
		files := maps.Clone(good)
		files["edges.json"] = []byte(text)
		entry := func(data []byte) string {
			return fmt.Sprintf("\"sha256\": %q,\n      \"bytes\": %d", sum(data), len(data))
		}
		files["manifest.json"] = []byte(strings.Replace(string(files["manifest.json"]), entry(good["edges.json"]),
			entry(files["edges.json"]), 1))
		artifact.Resign(files)
		_, err := artifact.DecodeAll(files)
		file := "edges.json: "
		if strings.HasPrefix(want, "models/") {
			file = ""
		}
		t.Run(text, func(t *testing.T) { wantError(t, err, file, want) })
	}
	wantManifestErrors(t, good, []manifestFault{
		{`"edges.json"
  ],`, `"edge_types.json"
  ],`, `requires[0] is "edge_types.json", which builds before this one wrote: train the artifact anew`},
		{`"edges.json"
  ],`, `
  ],`, `files lists "edges.json", which requires does not name`},
	})
}
