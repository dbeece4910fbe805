package event_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	jsonlib "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/test/expect"
)

func TestAppendPrediction(t *testing.T) {
	full := eventtest.FullPrediction()
	for name, tc := range map[string]struct {
		prediction event.Prediction
		want       string
	}{
		"full": {
			full,
			`{"id":"p1","class":2,"class_name":"Theory","probability":0.7,"abstained":true,"degraded":true,` +
				`"top":[{"class":2,"name":"Theory","probability":0.7},{"class":0,"probability":0.2}],` +
				`"probabilities":[0.2,0.1,0.7],"logits":[-1,1e-9,0.33333334],` +
				`"representation":{"kind":"embedding","values":[0.5,-0.1]},` +
				`"explanation":{"runner_up":1,"reasons":[{"kind":"feature","name":"country=DE","share":1.5,"margin":2.25},` +
				`{"kind":"neighbour","id":"p4","share":-0.5,"margin":0.75},{"kind":"arrival","share":0,"margin":1e-9}]},` +
				`"numbers":[{"name":"price","value":12.5,"lower":-1,"upper":26}],` +
				`"labels":[{"class":2,"name":"sold","probability":0.75}],` +
				`"links":[{"id":"i7","score":-1.5}],` +
				`"artifact":"v7","batch":"b-1",` +
				`"known_neighbours":3,"arrival_neighbours":4,"batch_neighbours":2,"unknown_neighbours":1,` +
				`"source":{"topic":"arrivals","partition":4,"offset":1152921504606846976},` +
				`"arrival_time":"2026-03-01T12:00:00Z","ingest_time":"2026-03-01T12:00:00.25Z",` +
				`"predicted_time":"2026-03-01T12:00:00.250000001Z"}`,
		},
		"least": {
			event.Prediction{ID: "p1"},
			`{"id":"p1","class":0,"probability":0,"artifact":"","known_neighbours":0,"batch_neighbours":0,` +
				`"unknown_neighbours":0,"source":{"topic":"","partition":0,"offset":0}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (json.Codec{}).AppendPrediction([]byte("before "), &tc.prediction)
			expect.OK(t, err)
			if diff := cmp.Diff("before "+tc.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff(eventtest.FullPrediction(), full); diff != "" {
		t.Errorf("encoding changed the prediction:\n%s", diff)
	}
}

func TestDecodePredictionError(t *testing.T) {
	const rest = `"probability":0.5,"artifact":"v","known_neighbours":0,"batch_neighbours":0,"unknown_neighbours":0,` +
		`"source":{"topic":"t","partition":0,"offset":0}}`
	for _, tc := range []struct{ record, text string }{
		{``, `the record is empty`},
		{`[]`, `want an object`},
		{`null`, `null, want an object`},
		{`{"class":1,` + rest, `id: is missing`},
		{`{"id":"x",` + rest, `class: is missing`},
		{`{"id":"x","class":null,` + rest, `class: is missing`},
		{`{"id":"x","class":-1,` + rest, `class: -1 is outside 0…`},
		{`{"id":"x","class":1.5,` + rest, `class: 1.5, want a plain integer`},
		{`{"id":"x","class":"a",` + rest, `class: "a", want a plain integer`},
		{`{"id":7,"class":1,` + rest, `id: 7, want a string`},
		{`{"id":"x","class":1,"top":[{"class":-2}],` + rest, `top[0].class: -2 is outside 0…`},
		{`{"id":"x","class":1,"logits":[1,1e39],` + rest, `logits[1]: 1e39 is beyond float32`},
		{`{"id":"x","class":1,"logits":{},` + rest, `logits: {}, want an array`},
		{`{"id":"x","class":1,"representation":{"kind":"x","values":[1]},` + rest,
			`representation.kind: "x", want "logits" or`},
		{`{"id":"x","class":1,"representation":{"values":[1]},` + rest, `representation.kind: is missing`},
		{`{"id":"x","class":1,"representation":{"kind":"logits"},` + rest, `representation.values: is missing`},
		{`{"id":"x","class":1,"representation":{"kind":"logits","values":[]},` + rest,
			`representation.values: is missing or empty`},
		{`{"id":"x","class":1,"logits":[null],` + rest, `logits[0]: null`},
		{`{"id":"x","class":1,"representation":{"kind":"logits","values":[1,1e39]},` + rest,
			`representation.values[1]: 1e39 is beyond`},
		{`{"id":"x","class":1,"abstained":1,` + rest, `abstained: 1, want true or false`},
		{`{"id":"x","class":1,"ingest_time":"noon",` + rest, `ingest_time: `},
		{`{"id":"x","class":1,"ingest_time":"` + strings.Repeat("9", 5000) + `",` + rest, `ingest_time: `},
		{`{"id":"x","class":1,"arrival_time":"9999-12-31T23:00:00-01:00",` + rest,
			`arrival_time: "9999-12-31T23:00:00-01:00", want a time in the years`},
		{`{"id":"x","class":1,"ingest_time":"0000-12-31T23:00:00Z",` + rest,
			`ingest_time: "0000-12-31T23:00:00Z", want a time`},
		{`{"id":"x","class":1,"predicted_time":"0001-01-01T00:00:00+01:00",` + rest,
			`predicted_time: "0001-01-01T00:00:00+01:00", want a time`},
		{`{"id":"x","class":1,"class":2,` + rest, `class: duplicate object member name`},
		{`{"id":"x","class":1,` + rest + `{}`, `the record goes on after its object`},
		{"{\"id\":\"\xff\",\"class\":1," + rest, `id: invalid UTF-8`},
	} {
		var p event.Prediction
		err := (json.Codec{}).DecodePrediction([]byte(tc.record), &p)
		var field *event.FieldError
		if !errors.As(err, &field) || field.Reason != event.ReasonUnparsable || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s:\n got %v\nwant …%s…", event.Cut(tc.record), err, tc.text)
		} else if len(err.Error()) > 600 {
			t.Errorf("%s: the error is %d bytes long", event.Cut(tc.record), len(err.Error()))
		}
	}
}

func TestPredictionRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := eventtest.DrawPrediction(t)
		data, err := (json.Codec{}).AppendPrediction(nil, &want)
		expect.OK(t, err)
		again, err := (json.Codec{}).AppendPrediction(nil, &want)
		if err != nil || string(again) != string(data) {
			t.Fatalf("the same prediction is written as %s and as %s (%v)", data, again, err)
		}
		got := eventtest.FullPrediction() // memory left by another record
		want.Key = got.Key
		if err := (json.Codec{}).DecodePrediction(data, &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, got, eventtest.SameBits); diff != "" {
			t.Fatalf("prediction (-want +got):\n%s", diff)
		}
	})
}

// The library would write the same bytes, in the order and with the omissions of this struct.
func TestPredictionsAreWrittenAsByTheLibrary(t *testing.T) {
	type source struct {
		Topic     string `json:"topic"`
		Partition int    `json:"partition"`
		Offset    int64  `json:"offset"`
	}
	type score struct {
		Class       int     `json:"class"`
		Name        string  `json:"name,omitzero"`
		Probability float32 `json:"probability"`
	}
	type representation struct {
		Kind   string    `json:"kind"`
		Values []float32 `json:"values"`
	}
	type reason struct {
		Kind   string  `json:"kind"`
		Name   string  `json:"name,omitzero"`
		ID     string  `json:"id,omitzero"`
		Share  float32 `json:"share"`
		Margin float32 `json:"margin"`
	}
	type number struct {
		Name  string  `json:"name"`
		Value float32 `json:"value"`
		Lower float32 `json:"lower"`
		Upper float32 `json:"upper"`
	}
	type link struct {
		ID    string  `json:"id"`
		Score float32 `json:"score"`
	}
	type explanation struct {
		RunnerUp *int     `json:"runner_up,omitzero"`
		Reasons  []reason `json:"reasons"`
	}
	type prediction struct {
		ID             string          `json:"id"`
		Class          int             `json:"class"`
		ClassName      string          `json:"class_name,omitzero"`
		Probability    float32         `json:"probability"`
		Abstained      bool            `json:"abstained,omitzero"`
		Degraded       bool            `json:"degraded,omitzero"`
		Top            []score         `json:"top,omitempty"`
		Probabilities  []float32       `json:"probabilities,omitempty"`
		Logits         []float32       `json:"logits,omitempty"`
		Representation *representation `json:"representation,omitzero"`
		Explanation    *explanation    `json:"explanation,omitzero"`
		Numbers        []number        `json:"numbers,omitempty"`
		Labels         []score         `json:"labels,omitempty"`
		Links          []link          `json:"links,omitempty"`
		Artifact       string          `json:"artifact"`
		Batch          string          `json:"batch,omitzero"`
		Known          int             `json:"known_neighbours"`
		Arrivals       int             `json:"arrival_neighbours,omitzero"`
		InBatch        int             `json:"batch_neighbours"`
		Unknown        int             `json:"unknown_neighbours"`
		Source         source          `json:"source"`
		ArrivalTime    time.Time       `json:"arrival_time,omitzero"`
		IngestTime     time.Time       `json:"ingest_time,omitzero"`
		PredictedTime  time.Time       `json:"predicted_time,omitzero"`
	}
	rapid.Check(t, func(t *rapid.T) {
		p := eventtest.DrawPrediction(t)
		got, err := (json.Codec{}).AppendPrediction(nil, &p)
		expect.OK(t, err)
		library := prediction{p.ID, p.Class, p.ClassName, p.Probability, p.Abstained, p.Degraded, nil, p.Probabilities,
			p.Logits, nil,
			nil, nil, nil, nil, p.Artifact, p.Batch, p.Known, p.Arrivals, p.InBatch, p.Unknown, source(p.Source),
			p.ArrivalTime,
			p.IngestTime,
			p.PredictedTime}
		for _, s := range p.Top {
			library.Top = append(library.Top, score(s))
		}
		for _, n := range p.Numbers {
			library.Numbers = append(library.Numbers, number(n))
		}
		for _, l := range p.Labels {
			library.Labels = append(library.Labels, score(l))
		}
		for _, l := range p.Links {
			library.Links = append(library.Links, link(l))
		}
		if len(p.Representation) > 0 {
			library.Representation = &representation{p.RepresentationKind, p.Representation}
		}
		if e := p.Explanation; e != nil {
			library.Explanation = &explanation{Reasons: []reason{}}
			if e.RunnerUp >= 0 {
				library.Explanation.RunnerUp = &e.RunnerUp
			}
			for _, r := range e.Reasons {
				library.Explanation.Reasons = append(library.Explanation.Reasons, reason(r))
			}
		}
		want, err := jsonlib.Marshal(&library)
		if err != nil || string(got) != string(want) {
			t.Fatalf("written as\n%s, by the library as\n%s (%v)", got, want, err)
		}
	})
}
