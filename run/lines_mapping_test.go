package run

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// Lines of another shape get the predictions and the explanations of Rivulet's own form, by the consumer's settings.
// Changes that leave no row are passed over.
func TestLinesOfAnotherShape(t *testing.T) {
	from, ids := small(t)
	const row = `{"id":"a","features":[1,2,3],"edges":["N"]}`
	own := strings.ReplaceAll(row, "N", ids[0])
	for name, tc := range map[string]struct {
		settings config.Mapping
		lines    []string
	}{
		"own": {config.Mapping{}, []string{own}},
		"pointers": {config.Mapping{ID: "/user/id", Features: "/x/0", Edges: "/user/friends"},
			[]string{`{"user":{"id":"a","friends":["` + ids[0] + `"]},"x":[[1,2,3]]}`}},
		"Debezium": {config.Mapping{Preset: read.PresetDebezium}, []string{`{"op":"c","before":null,"after":` + own + `}`,
			`{"op":"d","before":` + own + `,"after":null}`}},
		"CloudEvents": {config.Mapping{Preset: read.PresetCloudEvents}, []string{own}},
	} {
		forms, err := LineForms(config.Reading{Mapping: tc.settings})
		expect.OK(t, err)
		options := LineOptions{Mode: attach.Node, Batch: 10, Forms: forms,
			Rejected: func(line int64, d *event.DeadLetter) { t.Errorf("%s: line %d: %s: %s", name, line, d.Reason, d.Detail) }}
		in := strings.Join(tc.lines, "\n")
		var out bytes.Buffer
		predicted, rejected, err := PredictLines(t.Context(), from, strings.NewReader(in), &out, options)
		if err != nil || predicted != 1 || rejected != 0 {
			t.Errorf("%s: %d predicted, %d rejected, %v", name, predicted, rejected, err)
			continue
		}
		var want, got event.Prediction
		var plain bytes.Buffer
		if _, _, err := PredictLines(t.Context(), from, strings.NewReader(own), &plain,
			LineOptions{Mode: attach.Node, Batch: 10}); err != nil {
			t.Fatal(err)
		}
		expect.OK(t, (json.Codec{}).DecodePrediction(plain.Bytes(), &want))
		expect.OK(t, (json.Codec{}).DecodePrediction(out.Bytes(), &got))
		want.PredictedTime, want.Batch = got.PredictedTime, got.Batch // its name counts lines
		if diff := cmp.Diff(want, got); diff != "" || got.Known != 1 {
			t.Errorf("%s (-own +mapped):\n%s", name, diff)
		}
		var explained collected
		if n, rejected, err := ExplainLines(t.Context(), from, strings.NewReader(in), &explained, options); err != nil ||
			n != 1 || rejected != 0 ||
			explained[0].Prediction.ID != "a" || explained[0].Class != got.Class {
			t.Errorf("%s: %d explained, %d rejected, %v", name, n, rejected, err)
		}
	}
}
