package event_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/test/expect"
)

func TestDecodeArrival(t *testing.T) {
	for name, tc := range map[string]struct {
		record string
		want   event.Arrival
	}{
		"dense": {
			`{"id":"p1","features":[0.1,-2,3e2],"edges":["a",7,-3],"time":"2026-03-01T12:00:00.000000001Z"}`,
			event.Arrival{
				ID: "p1", Features: event.Features{Values: []float32{0.1, -2, 300}}, Edges: []string{"a", "7", "-3"},
				Time: time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC),
			},
		},
		"no features at all is a dense row of length 0": {
			`{"id":"p1","features":[]}`, event.Arrival{ID: "p1"},
		},
		"sparse in any order": {
			`{"features":{"values":[1,2,3],"indices":[7,0,4]},"id":"p1"}`,
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{0, 4, 7}, Values: []float32{2, 3, 1},
				Sparse: true}},
		},
		"sparse without values is all 1": {
			`{"id":"p1","features":{"indices":[4,2]}}`,
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{2, 4}, Values: []float32{1, 1}, Sparse: true}},
		},
		"sparse without indices is all 0": {
			`{"id":"p1","features":{"indices":[]}}`, event.Arrival{ID: "p1", Features: event.Features{Sparse: true}},
		},
		"an integer of any size is an id as written": {
			`{"id":123456789012345678901234567890,"features":[]}`, event.Arrival{ID: "123456789012345678901234567890"},
		},
		"null is nothing where a field may be missing": {
			`{"id":"p1","features":{"indices":[1],"values":null},"edges":null,"time":null}`,
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1}, Values: []float32{1}, Sparse: true}},
		},
		"names and ids may be escaped": {
			`{"\u0069d":"\u00e9\n\ud83d\ude00","\u0066eatures":[1],"edges":["a\"b"]}`,
			event.Arrival{ID: "é\n😀", Features: event.Features{Values: []float32{1}}, Edges: []string{`a"b`}},
		},
		"unknown fields are ignored, known names in other places too": {
			`{"x":{"id":[1,{"id":2}]},"id":"p1","indices":3,"features":{"id":1,"indices":[1],"values":[2]},"ID":4}`,
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1}, Values: []float32{2}, Sparse: true}},
		},
		"an offset becomes UTC": {
			`{"id":"p1","features":[],"time":"2026-03-01T13:00:00+01:00"}`,
			event.Arrival{ID: "p1", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		},
		"too small for float32 is 0": {
			`{"id":"p1","features":[1e-60]}`, event.Arrival{ID: "p1", Features: event.Features{Values: []float32{0}}},
		},
		"the largest float32": {
			`{"id":"p1","features":[3.4028235e38]}`,
			event.Arrival{ID: "p1", Features: event.Features{Values: []float32{math.MaxFloat32}}},
		},
		"white space": {
			" \n{ \"id\" : \"p1\" ,\t\"features\" : [ 1 , 2 ] }\r\n ",
			event.Arrival{ID: "p1", Features: event.Features{Values: []float32{1, 2}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, got := range []event.Arrival{{}, eventtest.UsedArrival()} {
				expect.OK(t, (json.Codec{}).DecodeArrival([]byte(tc.record), &got))
				eventtest.RequireSameArrival(t, &tc.want, &got)
			}
		})
	}
}

func TestDecodeArrivalError(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tc := range []struct{ record, reason, text string }{
		{``, event.ReasonUnparsable, `the record is empty`},
		{"  \n", event.ReasonUnparsable, `the record is empty`},
		{`7`, event.ReasonUnparsable, `7, want an object`},
		{`{"id":"x"`, event.ReasonUnparsable, `unexpected EOF`},
		{`{"id":"x","features":[1,2`, event.ReasonUnparsable, `features: unexpected EOF`},
		{`{"id":"x","features":[1]}]`, event.ReasonUnparsable, `goes on after its object (byte 25)`},
		{`{"features":[1]}`, event.ReasonUnparsable, `id: is missing`},
		{`{"id":"","features":[1]}`, event.ReasonUnparsable, `id: is empty`},
		{`{"id":null,"features":[1]}`, event.ReasonUnparsable, `id: null, want a string or an integer`},
		{`{"id":1.5,"features":[1]}`, event.ReasonUnparsable, `id: 1.5, want a string or a plain integer`},
		{`{"id":1e3,"features":[1]}`, event.ReasonUnparsable, `id: 1e3, want`},
		{`{"id":-0,"features":[1]}`, event.ReasonUnparsable, `id: -0, want`},
		{`{"id":false,"features":[1]}`, event.ReasonUnparsable, `id: false, want`},
		{`{"id":"x"}`, event.ReasonUnparsable, `features: is missing`},
		{`{"id":"x","features":null}`, event.ReasonUnparsable, `features: is missing`},
		{`{"id":"x","features":"` + long + `"}`, event.ReasonUnparsable, `features: "` + long[:62] + `… (202 bytes), want`},
		{`{"id":"x","features":[1,"2"]}`, event.ReasonUnparsable, `features[1]: "2", want a number`},
		{`{"id":"x","features":[[1]]}`, event.ReasonUnparsable, `features[0]: [1], want a number`},
		{`{"id":"x","features":[1,nul]}`, event.ReasonUnparsable, `features[1]: invalid character`},
		{`{"id":"x","features":[1 2]}`, event.ReasonUnparsable, `features: invalid character '2' after array element`},
		{`{"id":"x","features":[01]}`, event.ReasonUnparsable, `features: invalid character '1' after array element`},
		{`{"id":"x","features":[0x1p3]}`, event.ReasonUnparsable, `features: invalid character 'x'`},
		{`{"id":"x","features":[1],"features":[1]}`, event.ReasonUnparsable, `features: duplicate object member name`},
		{`{"id":"x","\u0069d":"y","features":[1]}`, event.ReasonUnparsable, `id: duplicate object member name`},
		{`{"id":"x","features":{"indices":[1],"indices":[2]}}`, event.ReasonUnparsable, `features.indices: duplicate`},
		{`{"id":"x","features":{"values":[1]}}`, event.ReasonUnparsable, `features.indices: is missing`},
		{`{"id":"x","features":{"indices":null}}`, event.ReasonUnparsable, `features.indices: null, want an array`},
		{`{"id":"x","features":{"indices":[1.0]}}`, event.ReasonUnparsable, `features.indices[0]: 1.0, want a plain integer`},
		{`{"id":"x","features":{"indices":[5,2,5]}}`, event.ReasonUnparsable, `features.indices: 5 is given twice`},
		{`{"id":"x","features":{"indices":[0,-1]}}`, event.ReasonFeatureLength, `features.indices[1]: -1 is outside`},
		{`{"id":"x","features":{"indices":[2147483648]}}`, event.ReasonFeatureLength,
			`features.indices[0]: 2147483648 is outside`},
		{`{"id":"x","features":{"indices":[1],"values":[]}}`, event.ReasonFeatureLength,
			`features.values: 0 values for 1 indices`},
		{`{"id":"x","features":{"indices":[1],"values":[NaN]}}`, event.ReasonNotFinite, `features.values[0]: NaN, features`},
		{`{"id":"x","features":[1, NaN ]}`, event.ReasonNotFinite, `features[1]: NaN, features must be finite`},
		{`{"id":"x","features":[Infinity,1]}`, event.ReasonNotFinite, `features[0]: Infinity, features`},
		{`{"id":"x","features":[1,-Infinity]}`, event.ReasonNotFinite, `features[1]: -Infinity, features`},
		{`{"id":"x","features":[-nan]}`, event.ReasonNotFinite, `features[0]: -nan, features`},
		{`{"id":"x","features":[Nano]}`, event.ReasonUnparsable, `features[0]: invalid character 'N'`},
		{`{"id":"x","features":[1,null]}`, event.ReasonNotFinite, `features[1]: null, features`},
		{`{"id":"x","features":[1e39]}`, event.ReasonNotFinite, `features[0]: 1e39 is beyond float32`},
		{`{"id":"x","features":[-3.4028236e38]}`, event.ReasonNotFinite, `features[0]: -3.4028236e38 is beyond float32`},
		{`{"id":"x","features":[1],"edges":"a"}`, event.ReasonUnparsable, `edges: "a", want an array`},
		{`{"id":"x","features":[1],"edges":["a",null]}`, event.ReasonUnparsable,
			`edges[1]: null, want a string or an integer`},
		{`{"id":"x","features":[1],"edges":["a",""]}`, event.ReasonUnparsable, `edges[1]: is empty`},
		{`{"id":"x","features":[1],"edges":[2.0]}`, event.ReasonUnparsable,
			`edges[0]: 2.0, want a string or a plain integer`},
		{`{"id":"x","features":[1],"edges":[["a"]]}`, event.ReasonUnparsable, `edges[0]: ["a"], want`},
		{`{"id":"x","features":[1],"time":1772366400}`, event.ReasonUnparsable, `time: 1772366400, want an RFC 3339 string`},
		{`{"id":"x","features":[1],"time":"2026-03-01"}`, event.ReasonUnparsable, `time: "2026-03-01", want an RFC 3339`},
		{`{"id":"x","features":[1],"time":"2026-03-01T12:00:00"}`, event.ReasonUnparsable,
			`time: "2026-03-01T12:00:00", want`},
		{`{"id":"x","features":[1],"time":"2026-02-30T12:00:00Z"}`, event.ReasonUnparsable,
			`time: "2026-02-30T12:00:00Z", want`},
		{`{"id":"x","features":[1],"time":"9999-12-31T23:59:59-01:00"}`, event.ReasonUnparsable,
			`-01:00", want a time in the years 1 to 9999 in UTC`},
		{`{"id":"x","features":[1],"time":"0001-01-01T00:00:00+01:00"}`, event.ReasonUnparsable,
			`+01:00", want a time in the years`},
		{"{\"id\":\"a\xff\",\"features\":[1]}", event.ReasonUnparsable, `id: invalid UTF-8`},
		{`{"id":"x","features":[1],"edges":["\ud800"]}`, event.ReasonUnparsable, `edges[0]: invalid surrogate pair`},
		{`{"id":"x","features":[1],"note":{"a":1,"a":2}}`, event.ReasonUnparsable, `note.a: duplicate object member name`},
		{strings.Repeat("[", 100), event.ReasonUnparsable, `unexpected EOF`},
		{`{"x":` + strings.Repeat("[", 20_000), event.ReasonUnparsable, `exceeded max depth`},
	} {
		got := eventtest.UsedArrival()
		err := (json.Codec{}).DecodeArrival([]byte(tc.record), &got)
		var field *event.FieldError
		if !errors.As(err, &field) {
			t.Errorf("%s: error %v (%T), want a *FieldError", event.Cut(tc.record), err, err)
			continue
		}
		if field.Reason != tc.reason || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s:\n got %s: %v\nwant %s: …%s…", event.Cut(tc.record), field.Reason, err, tc.reason, tc.text)
		}
		if len(err.Error()) > 600 {
			t.Errorf("%s: the error is %d bytes long", event.Cut(tc.record), len(err.Error()))
		}
	}
}

func TestAppendArrival(t *testing.T) {
	for name, tc := range map[string]struct {
		arrival event.Arrival
		want    string
	}{
		"dense": {
			event.Arrival{
				ID: "p\"1", Features: event.Features{Values: []float32{0.1, 1e-9, -3}}, Edges: []string{"a", "é"},
				Time: time.Date(2026, 3, 1, 13, 0, 0, 250_000_000, time.FixedZone("", 3600)),
			},
			`{"id":"p\"1","features":[0.1,1e-09,-3],"edges":["a","é"],"time":"2026-03-01T12:00:00.25Z"}`,
		},
		"sparse": {
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1, 5}, Values: []float32{1, 2}, Sparse: true}},
			`{"id":"p1","features":{"indices":[1,5],"values":[1,2]}}`,
		},
		"all ones": {
			event.Arrival{ID: "p1", Features: event.Features{Indices: []int32{1, 5}, Values: []float32{1, 1}, Sparse: true}},
			`{"id":"p1","features":{"indices":[1,5]}}`,
		},
		"all zero": {event.Arrival{ID: "p1", Features: event.Features{Sparse: true}},
			`{"id":"p1","features":{"indices":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (json.Codec{}).AppendArrival([]byte("before "), &tc.arrival)
			expect.OK(t, err)
			if diff := cmp.Diff("before "+tc.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestArrivalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := eventtest.DrawArrival(t)
		data, err := (json.Codec{}).AppendArrival(nil, &want)
		expect.OK(t, err)
		got := eventtest.UsedArrival()
		if err := (json.Codec{}).DecodeArrival(data, &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		eventtest.RequireSameArrival(t, &want, &got)
		if err := got.Check(eventtest.MaxFeatures(&got), len(want.Edges)); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	})
}

// A number and the string of its digits are the same node.
func TestIntegerIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := strconv.FormatInt(rapid.Int64().Draw(t, "id"), 10)
		var asNumber, asString event.Arrival
		for a, id := range map[*event.Arrival]string{&asNumber: n, &asString: `"` + n + `"`} {
			expect.OK(t, (json.Codec{}).DecodeArrival([]byte(`{"id":`+id+`,"features":[],"edges":[`+id+`]}`), a))
		}
		eventtest.RequireSameArrival(t, &asString, &asNumber)
	})
}

func TestSparseOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := event.Arrival{ID: "x", Features: eventtest.DrawSparse(t)}
		f := &want.Features
		order := make([]int, len(f.Indices))
		for k := range order {
			order[k] = k
		}
		order = rapid.Permutation(order).Draw(t, "order")
		var indices, values []string
		for _, k := range order {
			indices = append(indices, strconv.Itoa(int(f.Indices[k])))
			values = append(values, strconv.FormatFloat(float64(f.Values[k]), 'g', -1, 32))
		}
		record := `{"id":"x","features":{"indices":[` + strings.Join(indices, ",") + `],"values":[` +
			strings.Join(values, ",") + `]}}`
		var got event.Arrival
		expect.OK(t, (json.Codec{}).DecodeArrival([]byte(record), &got))
		eventtest.RequireSameArrival(t, &want, &got)
	})
}
