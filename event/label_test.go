package event_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

func drawLabel(t *rapid.T) event.Label {
	l := event.Label{ID: eventtest.Text().Draw(t, "id"), Class: event.ByName}
	if rapid.Bool().Draw(t, "by index") {
		l.Class = rapid.IntRange(0, 1<<31-1).Draw(t, "class")
	} else {
		l.ClassName = eventtest.Text().Draw(t, "name")
	}
	if rapid.Bool().Draw(t, "has time") {
		l.Time = eventtest.Moment().Draw(t, "time")
	}
	return l
}

// A codec reads back its own records; the generated code reads the Protobuf form in the same way; the JSON form
// conforms to the schema.
func TestLabelRoundTrip(t *testing.T) {
	schema := compileSchema(t, event.LabelSchema)
	rapid.Check(t, func(t *rapid.T) {
		want := drawLabel(t)
		for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
			record, err := codec.AppendLabel([]byte("before"), &want)
			if err != nil || !strings.HasPrefix(string(record), "before") {
				t.Fatalf("%T: %q, %v", codec, record, err)
			}
			record = record[len("before"):]
			got := event.Label{ID: "left", ClassName: "over", Time: time.Unix(1, 0)}
			if err := codec.DecodeLabel(record, &got); err != nil {
				t.Fatalf("%T: %q: %v", codec, record, err)
			}
			expect.Same(t, want, got, "%T", codec)
			if _, binary := codec.(protobuf.Codec); !binary {
				if err := conforms(schema, record); err != nil {
					t.Fatalf("%s: %v", record, err)
				}
				continue
			}
			generated := &eventpb.Label{Id: want.ID, ClassName: want.ClassName}
			if want.ClassName == "" {
				generated.Class = proto.Uint32(uint32(want.Class))
			}
			if !want.Time.IsZero() {
				generated.Time = timestamppb.New(want.Time)
			}
			read := &eventpb.Label{}
			if err := proto.Unmarshal(record, read); err != nil || !proto.Equal(generated, read) {
				t.Fatalf("generated code reads %v, want %v (%v)", read, generated, err)
			}
		}
	})
}

func requireGoodLabel(t *testing.T, record []byte) {
	t.Helper()
	var l event.Label
	if err := (json.Codec{}).DecodeLabel(record, &l); err != nil {
		t.Errorf("%s: %v", record, err)
	}
	if err := conforms(compileSchema(t, event.LabelSchema), record); err != nil {
		t.Errorf("%s: %v", record, err)
	}
}

func TestBadLabels(t *testing.T) {
	schema := compileSchema(t, event.LabelSchema)
	for record, want := range map[string]string{
		``:                                      "the record is empty",
		`{"class":1}`:                           "id: is missing",
		`{"id":"","class":1}`:                   "id: is empty",
		`{"id":"a"}`:                            "class: is missing, and so is class_name",
		`{"id":"a","class":null}`:               "class: is missing, and so is class_name",
		`{"id":"a","class":1,"class_name":"b"}`: "class: 1 and class_name are both given",
		`{"id":"a","class":-1}`:                 "class: -1 is outside 0…2147483647",
		`{"id":"a","class":1.5}`:                "class: 1.5, want a plain integer; a name goes into class_name",
		`{"id":"a","class":"b"}`:                `class: "b", want a plain integer; a name goes into class_name`,
		`{"id":"a","class":2147483648}`:         "class: 2147483648 is outside 0…2147483647",
		`{"id":"a","class_name":3}`:             "class_name: 3, want a string; an index goes into class",
		`{"id":"a","class_name":""}`:            "class_name: is empty",
		`{"id":"a","class":1,"time":7}`:         "time: 7, want an RFC 3339 string",
	} {
		var l event.Label
		err := (json.Codec{}).DecodeLabel([]byte(record), &l)
		var field *event.FieldError
		if !errors.As(err, &field) || field.Reason != event.ReasonUnparsable || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", record, err, want)
		}
		if record != "" && conforms(schema, []byte(record)) == nil {
			t.Errorf("%s: the schema takes it", record)
		}
	}
	for want, l := range map[string]*eventpb.Label{
		"id: is missing":    {Class: proto.Uint32(1)},
		"class: is missing": {Id: "a"},
		"class: 1 and":      {Id: "a", Class: proto.Uint32(1), ClassName: "b"},
		"class: 4294967295 is outside 0…2147483647": {Id: "a", Class: proto.Uint32(1<<32 - 1)},
		"time.nanos: -1 is outside": {Id: "a", Class: proto.Uint32(1),
			Time: &timestamppb.Timestamp{Nanos: -1}},
	} {
		record, err := proto.Marshal(l)
		expect.OK(t, err)
		var got event.Label
		if err := (protobuf.Codec{}).DecodeLabel(record, &got); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", l, err, want)
		}
	}
}

// A label that would not be read is not written.
func TestAppendLabelRefuses(t *testing.T) {
	for want, l := range map[string]event.Label{
		"id: is missing":                  {Class: 1},
		"class: is missing":               {ID: "a", Class: event.ByName},
		"class: 2 and class_name":         {ID: "a", Class: 2, ClassName: "b"},
		"class: -2 is below 0":            {ID: "a", Class: -2},
		"class: 2147483648 is outside":    {ID: "a", Class: 1 << 31},
		"time: ":                          {ID: "a", Class: 1, Time: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)},
		`class_name: "\xff" is not UTF-8`: {ID: "a", Class: event.ByName, ClassName: "\xff"},
	} {
		for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
			out, err := codec.AppendLabel([]byte("x"), &l)
			if err == nil || !strings.Contains(err.Error(), want) || string(out) != "x" {
				t.Errorf("%T: %q, %v, want %q", codec, out, err, want)
			}
		}
	}
}

func TestLabelResolves(t *testing.T) {
	classes := []string{"b", "a"}
	for _, tc := range []struct {
		label event.Label
		want  int
		ok    bool
	}{
		{event.Label{Class: 1}, 1, true}, {event.Label{Class: event.ByName, ClassName: "b"}, 0, true},
		{event.Label{Class: 2}, 2, false}, {event.Label{Class: event.ByName, ClassName: "c"}, -1, false},
	} {
		if got, ok := tc.label.Resolve(classes); got != tc.want || ok != tc.ok {
			t.Errorf("%+v: %d %v, want %d %v", tc.label, got, ok, tc.want, tc.ok)
		}
	}
}

// Any bytes give a label or a *event.FieldError, and a decoded label can be written again.
func FuzzDecodeLabel(f *testing.F) {
	for _, l := range []event.Label{{ID: "a", Class: 3},
		{ID: "b", Class: event.ByName, ClassName: "c", Time: time.Unix(1e9, 5)}} {
		for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
			record, err := codec.AppendLabel(nil, &l)
			expect.OK(f, err)
			f.Add(record)
		}
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, codec := range []event.Codec{json.Codec{}, protobuf.Codec{}} {
			var l, again event.Label
			if err := codec.DecodeLabel(record, &l); err != nil {
				requireFieldError(t, err)
				continue
			}
			written, err := codec.AppendLabel(nil, &l)
			if err == nil {
				err = codec.DecodeLabel(written, &again)
			}
			if err != nil || l != again {
				t.Fatalf("%T: %+v became %+v (%v)", codec, l, again, err)
			}
		}
	})
}
