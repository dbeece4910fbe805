package consumer

import (
	"fmt"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/kafka"
	"rivulet/schema"
	"rivulet/test/expect"
)

// newNamingVersion is a test version whose four positions are a number, a bool and a category of two values.
func newNamingVersion(t *testing.T, id, features string) *testVersion {
	t.Helper()
	s, err := schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[` + features + `]}`))
	expect.OK(t, err)
	v := newTestVersion(id)
	v.info.Schema = s
	return v
}

const (
	numberAndCategory = `{"name":"age","kind":"number","missing":"mean","mean":[3]},{"name":"on","kind":"bool",` +
		`"missing":"refuse","mean":[0]},` +
		`{"name":"c","kind":"category","missing":"zero","categories":["x"]}`
	categoryAndNumber = `{"name":"c","kind":"category","missing":"zero","categories":["x"]},` +
		`{"name":"age","kind":"number","missing":"mean","mean":[3]},{"name":"on","kind":"bool","missing":"refuse","mean":[0]}`
)

func recordOf(id, features string, headers ...event.Header) kafka.Record {
	return kafka.Record{Value: []byte(`{"id":"` + id + `","features":` + features + `,"edges":["t0"]}`), Headers: headers}
}

// processed returns the one batch that a pipeline makes of records.
func processed(t *testing.T, o PipelineOptions, records ...kafka.Record) event.Batch {
	t.Helper()
	out := &kept{}
	o.Deliverer = out
	expect.OK(t, pipeline(t, o).Process(t.Context(), Intake{Records: records}))
	return out.batches[0]
}

// Names in any order, and positions, give the same prediction, bit for bit.
func TestNamesInAnyOrderPredictAsPositions(t *testing.T) {
	v := newNamingVersion(t, "v1", numberAndCategory)
	b := processed(t, PipelineOptions{Versions: serve(v), Output: Output{Logits: true}},
		recordOf("a", `[7.5,1,1,0]`), recordOf("b", `{"named":{"age":7.5,"on":true,"c":"x"}}`),
		recordOf("c", `{"named":{"c":"x","age":7.5,"on":1}}`), recordOf("d", `{"indices":[0,1,2],"values":[7.5,1,1]}`),
		recordOf("e", `{"named":{"on":true,"c":null}}`), recordOf("f", `[3,1,0,0]`))
	if len(b.Predictions) != 6 {
		t.Fatalf("%d predictions, %+v", len(b.Predictions), b.DeadLetters)
	}
	for i, want := range []int{0, 0, 0, 0, 5, 5} {
		for k, x := range b.Predictions[i].Logits {
			if x != b.Predictions[want].Logits[k] {
				t.Errorf("%s: logits %v, want %v", b.Predictions[i].ID, b.Predictions[i].Logits, b.Predictions[want].Logits)
			}
		}
	}
}

func TestNamedFaultsAreDeadLettersWithTheirReasons(t *testing.T) {
	v := newNamingVersion(t, "v1", numberAndCategory)
	records := []kafka.Record{
		recordOf("ok", `{"named":{"age":null,"on":true}}`),
		recordOf(event.ReasonFeatureMissing, `{"named":{"age":1}}`),
		recordOf(event.ReasonFeatureType, `{"named":{"age":"1","on":true}}`),
		recordOf(event.ReasonFeatureUnknown, `{"named":{"on":true,"colour":"red"}}`),
		recordOf(event.ReasonNotFinite, `{"named":{"on":true,"age":1e20}}`),
	}
	for _, ignoring := range []bool{false, true} {
		b := processed(t, PipelineOptions{Versions: serve(v), IgnoreUnknown: ignoring}, records...)
		want := []string{event.ReasonFeatureMissing, event.ReasonFeatureType, event.ReasonFeatureUnknown,
			event.ReasonNotFinite}
		if ignoring {
			want = append(want[:2:2], event.ReasonNotFinite)
		}
		if len(b.DeadLetters) != len(want) {
			t.Fatalf("dead letters %+v", b.DeadLetters)
		}
		for k, d := range b.DeadLetters {
			if d.Reason != want[k] {
				t.Errorf("%s: %s, want %s", d.Reason, d.Detail, want[k])
			}
		}
	}
	b := processed(t, PipelineOptions{Versions: serve(newTestVersion("v1"))}, records[0])
	if len(b.DeadLetters) != 1 || b.DeadLetters[0].Reason != event.ReasonSchema {
		t.Errorf("a version without a schema: %+v", b)
	}
}

// counting counts what Batch is told of other schemas.
type counting struct {
	NopObserver
	other int
}

func (c *counting) Batch(s BatchStats) { c.other += s.OtherSchema }

func TestHashOfAnotherSchema(t *testing.T) {
	v := newNamingVersion(t, "v1", numberAndCategory)
	same := event.Header{Key: "Rivulet-Schema", Value: []byte(v.info.Schema.Hash())}
	other := event.Header{Key: event.HeaderSchema, Value: []byte(strings.Repeat("0", 64))}
	seen := &counting{}
	b := processed(t, PipelineOptions{Versions: serve(v), Observer: seen},
		recordOf("a", `[1,1,0,0]`, same), recordOf("b", `[1,1,0,0]`, other), recordOf("c", `{"named":{"on":true}}`, same),
		recordOf("d", `{"named":{"on":true}}`, other))
	if len(b.Predictions) != 3 || len(b.DeadLetters) != 1 || b.DeadLetters[0].Reason != event.ReasonSchema ||
		seen.other != 1 {
		t.Errorf("%d predictions, dead letters %+v, %d of another schema", len(b.Predictions), b.DeadLetters, seen.other)
	}
	b = processed(t, PipelineOptions{Versions: serve(newTestVersion("v1"))}, recordOf("a", `[1,1,0,0]`, same))
	if len(b.DeadLetters) != 1 || b.DeadLetters[0].Reason != event.ReasonSchema {
		t.Errorf("a version without a schema: %+v", b)
	}
}

// A batch is decoded and predicted by one version: with its schema, not with the schema of a version that comes
// meanwhile.
func TestSchemaIsThatOfTheVersionThatPredicts(t *testing.T) {
	first, second := newNamingVersion(t, "v1", numberAndCategory), newNamingVersion(t, "v2", categoryAndNumber)
	versions, out := serve(first), &kept{}
	p := pipeline(t, PipelineOptions{Versions: versions, Deliverer: out})
	record := recordOf("a", `{"named":{"age":7.5,"on":true,"c":"x"}}`)
	for k, want := range []string{"[7.5 1 1 0]", "[1 0 7.5 1]"} {
		v := []*testVersion{first, second}[k]
		versions.swap(v)
		expect.OK(t, p.Process(t.Context(), Intake{Records: []kafka.Record{record}}))
		if got := fmt.Sprint(v.batches[0].X.Dense.Row(0)); got != want || out.batches[k].Predictions[0].Artifact != v.info.ID {
			t.Errorf("%s saw %v, want %v; predicted by %s", v.info.ID, got, want, out.batches[k].Predictions[0].Artifact)
		}
	}
}

// Values of a batch that rows do not tell, missing ones and unknown categories, are reported by feature.
func TestValuesThatRowsDoNotTell(t *testing.T) {
	v := newNamingVersion(t, "v1", numberAndCategory)
	seen := &tallying{}
	for range 2 {
		b := processed(t, PipelineOptions{Versions: serve(v), Observer: seen},
			recordOf("a", `{"named":{"age":1,"on":true,"c":"x"}}`), recordOf("b", `{"named":{"on":true,"c":"new"}}`),
			recordOf("c", `{"named":{"age":null,"on":true,"c":"newer"}}`))
		if len(b.Predictions) != 3 {
			t.Fatalf("dead letters %+v", b.DeadLetters)
		}
		if seen.first != "new" && seen.first != "newer" {
			t.Errorf("an unknown category is %q", seen.first)
		}
		expect.Same(t, []schema.Count{{Feature: "age", Missing: 2}, {Feature: "c", Unseen: 2, Example: seen.first}},
			seen.values, "counts of a batch")
	}
}

// tallying keeps what Batch is told of values.
type tallying struct {
	NopObserver
	values []schema.Count
	first  string // either of two, as arrivals are decoded at once
}

func (c *tallying) Batch(s BatchStats) {
	c.values = s.Values
	for _, of := range s.Values {
		if of.Unseen > 0 {
			c.first = of.Example
		}
	}
}
