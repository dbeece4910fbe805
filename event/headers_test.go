package event_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/test/expect"
)

func TestDeadLetterHeaders(t *testing.T) {
	d := event.DeadLetter{
		Headers:    []event.Header{{"content-type", []byte("application/json")}, {"trace", nil}},
		Source:     event.Source{"arrivals", 3, 1 << 40},
		IngestTime: time.Date(2026, 3, 1, 13, 0, 0, 250_000_000, time.FixedZone("", 3600)),
		Reason:     event.ReasonNotFinite,
		Detail:     "features[1]: NaN",
	}
	want := []event.Header{
		{"content-type", []byte("application/json")},
		{"trace", nil},
		{"rivulet-reason", []byte("not_finite")},
		{"rivulet-detail", []byte("features[1]: NaN")},
		{"rivulet-source-topic", []byte("arrivals")},
		{"rivulet-source-partition", []byte("3")},
		{"rivulet-source-offset", []byte("1099511627776")},
		{"rivulet-ingest-time", []byte("2026-03-01T12:00:00.25Z")},
	}
	got := d.RecordHeaders()
	expect.Same(t, want, got, "headers")

	// If it is fed in again from the dead-letter topic and fails again, it has one set of our headers, the new one.
	again := event.DeadLetter{Headers: got, Source: event.Source{"arrivals-retry", 0, 5}, Reason: event.ReasonUnparsable,
		Detail: "is missing"}
	want = []event.Header{
		{"content-type", []byte("application/json")},
		{"trace", nil},
		{"rivulet-reason", []byte("unparsable")},
		{"rivulet-detail", []byte("is missing")},
		{"rivulet-source-topic", []byte("arrivals-retry")},
		{"rivulet-source-partition", []byte("0")},
		{"rivulet-source-offset", []byte("5")},
	}
	expect.Same(t, want, again.RecordHeaders(), "headers the second time")
	if len(again.Headers) != 8 || again.Headers[2].Key != "rivulet-reason" ||
		string(again.Headers[2].Value) != "not_finite" {
		t.Error("the dead letter's own headers were changed")
	}
}

func TestDeadLetterWithoutATimeThatCanBeWritten(t *testing.T) {
	for _, at := range []time.Time{{}, time.UnixMilli(1_772_366_400_000_000), time.UnixMilli(math.MinInt64)} {
		d := event.DeadLetter{IngestTime: at}
		for _, h := range d.RecordHeaders() {
			if h.Key == event.HeaderIngestTime {
				t.Errorf("%v is written as %s", at, h.Value)
			}
		}
	}
}

func TestDeadLetterDetailIsBounded(t *testing.T) {
	for _, detail := range []string{strings.Repeat("é", 5000), "x" + strings.Repeat("é", 5000),
		strings.Repeat("\xff", 5000)} {
		d := event.DeadLetter{Detail: detail}
		got := string(d.RecordHeaders()[1].Value)
		if len(got) > 1024 || len(got) < 1024-8 && len(detail) > 5000 || !utf8.ValidString(got) {
			t.Errorf("a detail of %d bytes becomes %d bytes: %q", len(detail), len(got), got)
		}
	}
}

func TestPredictionHeaders(t *testing.T) {
	p := eventtest.FullPrediction()
	want := []event.Header{
		{"content-type", []byte("application/json")},
		{"rivulet-artifact", []byte("v7")},
		{"rivulet-source-topic", []byte("arrivals")},
		{"rivulet-source-partition", []byte("4")},
		{"rivulet-source-offset", []byte("1152921504606846976")},
	}
	got, text := event.AppendPredictionHeaders(nil, []byte("before "), &p, json.Codec{}.ContentType())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(string(text), "before application/json") {
		t.Errorf("the text is %q", text)
	}
}

func TestContentTypeOf(t *testing.T) {
	for _, tc := range []struct {
		headers []event.Header
		want    string
	}{
		{nil, ""},
		{[]event.Header{{"x", []byte("y")}}, ""},
		{[]event.Header{{"Content-Type", []byte("a")}, {"x", []byte("y")}}, "a"},
		{[]event.Header{{"content-type", []byte("a")}, {"content-type", []byte("b")}}, "b"},
	} {
		if got := read.ContentTypeOf(tc.headers); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.headers, got, tc.want)
		}
	}
}

func TestForContentType(t *testing.T) {
	for _, ct := range []string{
		"", "application/json", "Application/JSON", " application/json ", "application/json; charset=utf-8",
		`application/json;charset="UTF-8"`, "application/json; profile=x",
	} {
		codec, ok := read.ForContentType(ct)
		if !ok || codec.ContentType() != "application/json" {
			t.Errorf("%q: %v, %v, want JSON", ct, codec, ok)
		}
	}
	for _, ct := range []string{
		"application/x-protobuff", "text/plain", "json", "application/json; charset=latin1", "application/json;;=", " ",
		"\xff",
	} {
		if codec, ok := read.ForContentType(ct); ok {
			t.Errorf("%q: %v, want none", ct, codec)
		}
	}
}

// A prediction carries the trace context of its arrival's record, and only a sampled trace has an id.
func TestTraceContext(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	record := []event.Header{{Key: "traceparent", Value: []byte(parent)}, {Key: "Tracestate", Value: []byte("a=1")}}
	p := event.Prediction{Trace: event.TraceOf(record)}
	headers, _ := event.AppendPredictionHeaders(nil, nil, &p, "application/json")
	if got := event.TraceOf(headers); string(got.Parent) != parent || string(got.State) != "a=1" {
		t.Errorf("got %q and %q", got.Parent, got.State)
	}
	for text, want := range map[string]string{
		parent:                   "0af7651916cd43dd8448eb211c80319c",
		parent + "-later":        "0af7651916cd43dd8448eb211c80319c", // a version to come may have more fields
		parent[:54] + "0":        "",                                 // not sampled
		parent[:54]:              "",
		"":                       "",
		"00-" + "x" + parent[4:]: "",
		parent[:53] + "zz":       "",
	} {
		of := event.TraceContext{Parent: []byte(text)}
		if id, ok := of.Sampled(); ok != (want != "") || ok && id != want {
			t.Errorf("%q: got %q, %t", text, id, ok)
		}
	}
}

// Spring Cloud Stream writes header values as JSON. Another value is returned as it is, also one that only looks so.
func TestHeaderValues(t *testing.T) {
	for name, c := range map[string]struct {
		headers []event.Header
		want    string
	}{
		"plain":         {[]event.Header{{Key: "rivulet-kind", Value: []byte("edge")}}, "edge"},
		"in quotes":     {[]event.Header{{Key: "rivulet-kind", Value: []byte(`"edge"`)}}, "edge"},
		"with a blank":  {[]event.Header{{Key: "rivulet-kind", Value: []byte(` "edge" `)}}, "edge"},
		"escaped":       {[]event.Header{{Key: "rivulet-kind", Value: []byte(`"e\u0064ge"`)}}, "edge"},
		"a quoted name": {[]event.Header{{Key: `"Rivulet-Kind"`, Value: []byte(`edge`)}}, "edge"},
		"one quote":     {[]event.Header{{Key: "rivulet-kind", Value: []byte(`"edge`)}}, `"edge`},
		"a quote":       {[]event.Header{{Key: "rivulet-kind", Value: []byte(`"`)}}, `"`},
		"the last one": {[]event.Header{{Key: "rivulet-kind", Value: []byte("a")},
			{Key: "RIVULET-KIND", Value: []byte(`"b"`)}}, "b"},
		"none": {[]event.Header{{Key: "kind", Value: []byte("edge")}}, ""},
	} {
		expect.Same(t, c.want, string(event.HeaderValue(c.headers, event.HeaderKind)), "%s", name)
	}
}

// The header that tells an edge from an arrival is understood as producers write it.
func TestKindOfAnEdge(t *testing.T) {
	for _, c := range []struct {
		value string
		want  bool
	}{{"edge", true}, {`"edge"`, true}, {"Edge", true}, {" edge", true}, {"", false}, {"node", false}, {`"node"`, false}} {
		var e event.Edge
		is, err := readtest.Edge(&read.Reader{}, []event.Header{{Key: event.HeaderKind, Value: []byte(c.value)}},
			[]byte(`{"source":"a","target":"b"}`), &e)
		if is != c.want || err != nil || is && (e.Source != "a" || e.Target != "b") {
			t.Errorf("%q: an edge %v, want %v; %+v, %v", c.value, is, c.want, e, err)
		}
	}
}
