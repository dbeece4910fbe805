package repartition

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/consumer/limits"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// mapped are forms of records with a mapping.
func mapped(t *testing.T, o form.MappingOptions) form.Reader {
	t.Helper()
	m, err := form.NewMapping(o)
	expect.OK(t, err)
	return form.Reader{Mapping: m}
}

// written says what is written: key, value, and whether headers tell an edge, and one of its own form.
func written(out []kafka.Record) (lines []string) {
	for _, r := range out {
		line := string(r.Key) + " <nil>"
		if r.Value != nil {
			line = string(r.Key) + " " + string(r.Value)
		}
		for _, h := range r.Headers {
			line += " " + h.Key
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRoute(t *testing.T) {
	const edge = " content-type rivulet-kind"
	debezium := mapped(t, form.MappingOptions{Preset: form.PresetDebezium, Source: "/from_id", Target: "/to_id",
		Weight: "/amount"})
	connect := mapped(t, form.MappingOptions{Preset: form.PresetConnect, Source: "/from_id", Target: "/to_id"})
	rows := mapped(t, form.MappingOptions{Source: "/from", Target: "/to"})
	kind := []kafka.Header{{Key: event.HeaderKind, Value: []byte(event.KindEdge)}}
	for name, c := range map[string]struct {
		topic   string
		key     string
		value   string
		headers []kafka.Header
		options Options
		want    []string
		outcome Outcome
		reason  string // of a dead letter, and how its detail begins
	}{
		"a node stays as it came": {topic: "accounts", key: "17", value: `{"id": "n1",  "features": [1]}`,
			want: []string{`n1 {"id": "n1",  "features": [1]}`}},
		"a node of a table": {topic: "accounts", value: `{"op":"c","after":{"id":7,"x":1.5}}`,
			options: Options{NodeForms: mapped(t, form.MappingOptions{Preset: form.PresetDebezium, Named: "#"})},
			want:    []string{`7 {"op":"c","after":{"id":7,"x":1.5}}`}},
		"a node that is none": {topic: "accounts", value: `{"id": 1.5}`, outcome: DeadLetter,
			reason: "unparsable id: "},
		"an edge on a topic of nodes": {topic: "accounts", value: `{"source":"a","target":"b"}`, headers: kind,
			want: []string{`a {"source":"a","target":"b"} rivulet-kind`,
				`b {"source":"b","target":"a","weight":1} rivulet-kind` + edge}, outcome: Edge},
		"a tombstone": {topic: "accounts", key: "n1", options: Options{NodeForms: form.Reader{Forget: true}},
			want: []string{"n1 <nil>"}, outcome: Forget},
		"a tombstone that nobody asks for": {topic: "accounts", key: "n1", outcome: Skipped},
		"an edge of both ends": {topic: "transfers", value: `{"source":"a","target":"b","weight":3}`,
			want: []string{`a {"source":"a","target":"b","weight":3} rivulet-kind`,
				`b {"source":"b","target":"a","weight":3}` + edge}, outcome: Edge},
		"an edge with a type": {topic: "transfers", value: `{"source":"a","target":"b","type":"pays"}`,
			want: []string{`a {"source":"a","target":"b","type":"pays"} rivulet-kind`,
				`b {"source":"b","target":"a","weight":1,"type":"pays"}` + edge}, outcome: Edge},
		"a row with a type": {topic: "transfers", value: `{"from":"a","to":"b","kind":"pays"}`,
			options: Options{Ends: Source,
				EdgeForms: mapped(t, form.MappingOptions{Source: "/from", Target: "/to", Type: "/kind"})},
			want: []string{`a {"source":"a","target":"b","weight":1,"type":"pays"}` + edge}, outcome: Edge},
		"an edge with a direction": {topic: "transfers", value: `{"source":"a","target":"b"}`,
			options: Options{Directed: true}, want: []string{`a {"source":"a","target":"b"} rivulet-kind`,
				`b {"source":"a","target":"b","weight":1,"in":true}` + edge}, outcome: Edge},
		"an edge that says its direction": {topic: "transfers", value: `{"source":"a","target":"b","in":true}`,
			want: []string{`a {"source":"a","target":"b","weight":1}` + edge,
				`b {"source":"a","target":"b","in":true} rivulet-kind`}, outcome: Edge},
		"an edge of its source": {topic: "transfers", value: `{"source":"a","target":"b"}`, options: Options{Ends: Source},
			want: []string{`a {"source":"a","target":"b"} rivulet-kind`}, outcome: Edge},
		"an edge of its target": {topic: "transfers", value: `{"source":"a","target":"b"}`, options: Options{Ends: Target},
			want: []string{`b {"source":"b","target":"a","weight":1}` + edge}, outcome: Edge},
		"an edge to itself": {topic: "transfers", value: `{"source":"a","target":"a"}`,
			want: []string{`a {"source":"a","target":"a"} rivulet-kind`}, outcome: Edge},
		"a change of Debezium": {topic: "transfers",
			value:   `{"op":"c","before":null,"after":{"id":9,"from_id":1,"to_id":2,"amount":2.5}}`,
			options: Options{EdgeForms: debezium}, outcome: Edge,
			want: []string{`1 {"source":"1","target":"2","weight":2.5}` + edge,
				`2 {"source":"2","target":"1","weight":2.5}` + edge}},
		"a delete of Debezium": {topic: "transfers", value: `{"op":"d","before":{"id":9,"from_id":1,"to_id":2},"after":null}`,
			options: Options{EdgeForms: debezium}, outcome: Skipped},
		"a tombstone of Debezium": {topic: "transfers", key: `{"id":9}`, options: Options{EdgeForms: debezium},
			outcome: Skipped},
		"a heartbeat": {topic: "transfers", value: `{"ts_ms": 17}`, options: Options{EdgeForms: debezium}, outcome: Skipped},
		"a row of Connect": {topic: "transfers", value: `{"schema":{"type":"struct"},"payload":{"from_id":"a","to_id":"b"}}`,
			options: Options{EdgeForms: connect, Ends: Source}, outcome: Edge,
			want: []string{`a {"source":"a","target":"b","weight":1}` + edge}},
		"a row in JSON": {topic: "transfers", value: `{"from":"a","to":"b"}`, options: Options{EdgeForms: rows, Ends: Source},
			outcome: Edge, want: []string{`a {"source":"a","target":"b","weight":1}` + edge}},
		"an edge without an end": {topic: "transfers", value: `{"source":"a"}`, outcome: DeadLetter,
			reason: "unparsable target: is missing"},
		"a row without an end": {topic: "transfers", value: `{"from":"a","to":null}`, options: Options{EdgeForms: rows},
			outcome: DeadLetter, reason: "unparsable the record has no two ends"},
		"a weight that leads to its arrival": {topic: "transfers", value: `{"source":"a","target":"b","weight":2}`,
			options: Options{Directed: true}, outcome: DeadLetter, reason: "unparsable weight: "},
		"a long id": {topic: "transfers", value: `{"source":"a","target":"bbbbbbbbb"}`,
			options: Options{Limits: limits.Limits{IDBytes: 8}}, outcome: DeadLetter, reason: "too_large target: "},
		"a large record": {topic: "accounts", value: `{"id":"a","features":[1]}`,
			options: Options{Limits: limits.Limits{RecordBytes: 20}}, outcome: DeadLetter, reason: "too_large key and value"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options
			o.Nodes, o.Edges = []string{"accounts"}, []string{"transfers"}
			if o.Ends == "" {
				o.Ends = Both
			}
			rec := kafka.Record{Key: []byte(c.key), Value: []byte(c.value), Headers: c.headers, Time: time.UnixMilli(3),
				Position: kafka.Position{Topic: c.topic}}
			if c.value == "" {
				rec.Value = nil
			}
			out, outcome, err := (&Router{opts: o}).route(&rec)
			if err != nil {
				outcome = DeadLetter
				fault := event.FaultOf(err)
				if got := fault.Reason + " " + fault.Error(); c.reason == "" || !strings.HasPrefix(got, c.reason) {
					t.Errorf("%s, want %s…", got, c.reason)
				}
			}
			if diff := cmp.Diff(c.want, written(out)); diff != "" || outcome != c.outcome {
				t.Errorf("outcome %s, want %s (-want +got):\n%s", OutcomeNames[outcome], OutcomeNames[c.outcome], diff)
			}
			for _, r := range out {
				if !r.Time.Equal(rec.Time) {
					t.Errorf("the time of %s is %v", r.Key, r.Time)
				}
			}
		})
	}
}
