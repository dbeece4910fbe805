package consumer

import (
	"errors"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/event/protobuf"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// A decoder refuses what becomes a dead letter, for the same reason, and reads the setting's form where a record does
// not name one.
func TestADecoderTakesWhatThePathTakes(t *testing.T) {
	limits := event.Limits{Edges: 3, RecordBytes: 200 << 10}
	record := func(key, value string, contentType ...string) *kafka.Record {
		r := &kafka.Record{Key: []byte(key), Value: []byte(value)}
		for _, ct := range contentType {
			r.Headers = append(r.Headers, event.Header{Key: event.HeaderContentType, Value: []byte(ct)})
		}
		return r
	}
	long := strings.Repeat("i", 130<<10)
	binary, err := protobuf.Codec{}.AppendArrival(nil,
		&event.Arrival{ID: "p", Features: event.Features{Values: []float32{1, 2}}})
	expect.OK(t, err)
	for name, tc := range map[string]struct {
		codec  event.Codec
		record *kafka.Record
		reason string // empty: taken
	}{
		"taken": {nil, record("x", `{"id":"x","features":[1,2],"edges":["a","x","a"]}`), ""},
		"edges": {nil, record("x", `{"id":"x","features":[1,2],"edges":["a","a","a","a"]}`),
			event.ReasonTooManyEdges},
		"id":                  {nil, record("x", `{"id":"`+long+`","features":[1,2]}`), event.ReasonTooLarge},
		"record":              {nil, record(long+long, `{"id":"x","features":[1,2]}`), event.ReasonTooLarge},
		"features":            {nil, record("x", `{"id":"x","features":[1]}`), event.ReasonFeatureLength},
		"magnitude":           {nil, record("x", `{"id":"x","features":[1,1e16]}`), event.ReasonNotFinite},
		"content-type":        {nil, record("x", `{"id":"x","features":[1,2]}`, "text/csv"), event.ReasonContentType},
		"form of the setting": {protobuf.Codec{}, record("p", string(binary)), ""},
		"form of the header":  {protobuf.Codec{}, record("x", `{"id":"x","features":[1,2]}`, "application/json"), ""},
		"other form":          {nil, record("p", string(binary)), event.ReasonUnparsable},
	} {
		a, dropped, err := NewDecoder(read.Reader{Default: tc.codec}, limits).Arrival(t.Context(), tc.record, 2)
		var fault *event.FieldError
		switch {
		case tc.reason == "":
			if err != nil || a.ID != string(tc.record.Key) || name == "taken" && (len(a.Edges) != 1 || dropped != 2) {
				t.Errorf("%s: %v, %d dropped, %v", name, a, dropped, err)
			}
		case !errors.As(err, &fault) || fault.Reason != tc.reason:
			t.Errorf("%s: %v, want %s", name, err, tc.reason)
		}
	}
}
