package event_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/eventtest"
	eventjson "rivulet/event/json"
	"rivulet/test/expect"
)

// The model and the limit for which the example files are made.
const (
	exampleFeatures = 8
	exampleEdges    = 4
)

func compileSchema(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	expect.OK(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	expect.OK(t, compiler.AddResource("schema.json", document))
	compiled, err := compiler.Compile("schema.json")
	expect.OK(t, err)
	return compiled
}

// conforms returns the schema's objection to a record, or the parser's.
func conforms(schema *jsonschema.Schema, record []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(record))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func examples(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	files := make(map[string][]byte, len(paths))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		expect.OK(t, err)
		files[strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))] = data
	}
	return files
}

func TestExampleArrivals(t *testing.T) {
	schema := compileSchema(t, event.ArrivalSchema)
	for name, record := range examples(t, "arrival-*.json") {
		t.Run(name, func(t *testing.T) { requireGoodArrival(t, schema, record) })
	}
}

func requireGoodArrival(t *testing.T, schema *jsonschema.Schema, record []byte) {
	t.Helper()
	var a, again event.Arrival
	expect.OK(t, (eventjson.Codec{}).DecodeArrival(record, &a))
	d := exampleFeatures
	if a.Features.Named != nil {
		d = 0 // no schema has made a row of them
	}
	if err := a.Check(d, exampleEdges); err != nil {
		t.Error(err)
	}
	written, err := (eventjson.Codec{}).AppendArrival(nil, &a)
	expect.OK(t, err)
	expect.OK(t, (eventjson.Codec{}).DecodeArrival(written, &again))
	eventtest.RequireSameArrival(t, &a, &again)
	for _, r := range [][]byte{record, written} {
		if err := conforms(schema, r); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
}

// beyondSchema are mistakes that a schema of one record cannot see.
var beyondSchema = []string{
	"bad-arrival-feature_length-index-too-large", "bad-arrival-feature_length-short",
	"bad-arrival-feature_length-more-values-than-indices", "bad-arrival-too_many_edges-five",
	"bad-arrival-not_finite-beyond-float32", "bad-arrival-unparsable-exponent-id", "bad-arrival-unparsable-minus-zero-id",
	"bad-arrival-unparsable-fractional-index", "bad-arrival-unparsable-lone-surrogate",
	"bad-arrival-unparsable-time-beyond-year-9999", "bad-arrival-unparsable-not-utf8",
	"bad-arrival-unparsable-repeated-field",
}

// The name of a bad file carries the reason: bad-arrival-REASON-what.json.
func TestBadArrivals(t *testing.T) {
	schema := compileSchema(t, event.ArrivalSchema)
	reasons := map[string]bool{}
	for name, record := range examples(t, "bad-arrival-*.json") {
		t.Run(name, func(t *testing.T) {
			reason := strings.Split(name, "-")[2]
			reasons[reason] = true
			var a event.Arrival
			err := (eventjson.Codec{}).DecodeArrival(record, &a)
			if err == nil {
				err = a.Check(exampleFeatures, exampleEdges)
			}
			var field *event.FieldError
			if !errors.As(err, &field) || field.Reason != reason {
				t.Errorf("got %v (%+v), want reason %s", err, field, reason)
			}
			if invisible := slices.Contains(beyondSchema, name); (conforms(schema, record) == nil) != invisible {
				t.Errorf("the schema says %v, listed as beyond a schema: %v", conforms(schema, record), invisible)
			}
		})
	}
	for _, reason := range []string{event.ReasonUnparsable, event.ReasonFeatureLength, event.ReasonNotFinite,
		event.ReasonTooManyEdges} {
		if !reasons[reason] {
			t.Errorf("no example of %s", reason)
		}
	}
}

func TestExamplePredictions(t *testing.T) {
	schema := compileSchema(t, event.PredictionSchema)
	for name, record := range examples(t, "prediction-*.json") {
		t.Run(name, func(t *testing.T) { requireGoodPrediction(t, schema, record) })
	}
}

func requireGoodPrediction(t *testing.T, schema *jsonschema.Schema, record []byte) {
	t.Helper()
	var p, again event.Prediction
	expect.OK(t, (eventjson.Codec{}).DecodePrediction(record, &p))
	written, err := (eventjson.Codec{}).AppendPrediction(nil, &p)
	expect.OK(t, err)
	expect.OK(t, (eventjson.Codec{}).DecodePrediction(written, &again))
	if diff := cmp.Diff(p, again, eventtest.SameBits); diff != "" {
		t.Error(diff)
	}
	for _, r := range [][]byte{record, written} {
		if err := conforms(schema, r); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
}

func TestBadPredictions(t *testing.T) {
	schema := compileSchema(t, event.PredictionSchema)
	for name, record := range examples(t, "bad-prediction-*.json") {
		t.Run(name, func(t *testing.T) {
			var p event.Prediction
			if err := (eventjson.Codec{}).DecodePrediction(record, &p); err == nil {
				t.Errorf("decoded as %+v", p)
			}
			if name != "bad-prediction-repeated-field" && conforms(schema, record) == nil {
				t.Error("the schema takes it")
			}
		})
	}
}

// All records that the codec writes conform to the schemas that readers in other languages use.
func TestWrittenConforms(t *testing.T) {
	arrivals, predictions := compileSchema(t, event.ArrivalSchema), compileSchema(t, event.PredictionSchema)
	rapid.Check(t, func(t *rapid.T) {
		a, p := eventtest.DrawArrival(t), eventtest.DrawPrediction(t)
		written, err := (eventjson.Codec{}).AppendArrival(nil, &a)
		if err == nil {
			err = conforms(arrivals, written)
		}
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		written, err = (eventjson.Codec{}).AppendPrediction(nil, &p)
		if err == nil {
			err = conforms(predictions, written)
		}
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
	})
}

var fence = regexp.MustCompile("(?ms)^```json (arrival|edge|prediction|label)\n(.*?)^```$")

// The README is the contract's text; its examples must be records.
func TestReadmeExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	expect.OK(t, err)
	arrivals, predictions := compileSchema(t, event.ArrivalSchema), compileSchema(t, event.PredictionSchema)
	count := map[string]int{}
	for _, match := range fence.FindAllSubmatch(readme, -1) {
		kind := string(match[1])
		count[kind]++
		switch kind {
		case "arrival":
			requireGoodArrival(t, arrivals, match[2])
		case "prediction":
			requireGoodPrediction(t, predictions, match[2])
		case "label":
			requireGoodLabel(t, match[2])
		case "edge":
			requireGoodEdge(t, match[2])
		}
	}
	if count["arrival"] < 2 || count["prediction"] < 2 || count["label"] < 2 || count["edge"] < 2 {
		t.Errorf("found %v examples, want two of each", count)
	}
}

// Every field of the schemas and every header is in the README.
func TestReadmeIsComplete(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	expect.OK(t, err)
	words := []string{
		event.HeaderKind, event.HeaderSchema, "named", event.HeaderContentType, event.HeaderArtifact, event.HeaderReason, event.HeaderDetail, event.HeaderSourceTopic,
		event.HeaderSourcePartition,
		event.HeaderSourceOffset, event.HeaderIngestTime, "indices", "values", "partition", "offset", "runner_up", "reasons",
		"share",
		"margin",
	}
	for _, data := range [][]byte{event.ArrivalSchema, event.PredictionSchema, event.LabelSchema, event.EdgeSchema} {
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		expect.OK(t, json.Unmarshal(data, &schema))
		for name := range schema.Properties {
			words = append(words, name)
		}
	}
	for _, word := range words {
		if !bytes.Contains(readme, []byte("`"+word+"`")) {
			t.Errorf("README.md does not explain `%s`", word)
		}
	}
}
