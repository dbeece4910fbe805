package connect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/schema"
)

// Values by the type that the schema beside the row gives them, as Debezium 3 and Kafka Connect 4 write them.
func TestTypedValues(t *testing.T) {
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	stamp := func(n float64, at time.Time) schema.Value {
		return schema.Value{Type: schema.Stamp, Number: n, Time: at}
	}
	numeral := func(text string, n float64) schema.Value {
		return schema.Value{Type: schema.Numeral, Text: text, Number: n}
	}
	number := func(n float64) schema.Value { return schema.Value{Type: schema.Number, Number: n} }
	for _, tc := range []struct {
		field, value string
		want         schema.Value
	}{
		{`{"type":"int32","name":"io.debezium.time.Date"}`, `19723`, stamp(19723, day)},
		{`{"type":"int32","name":"org.apache.kafka.connect.data.Date"}`, `-1`,
			stamp(-1, time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC))},
		{`{"type":"int64","name":"io.debezium.time.Timestamp"}`, `1704067200000`, stamp(1704067200000, day)},
		{`{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp"}`, `1`, stamp(1, time.Unix(0, 1e6).UTC())},
		{`{"type":"int64","name":"io.debezium.time.MicroTimestamp"}`, `1704067200000001`,
			stamp(1704067200000001, day.Add(time.Microsecond))},
		{`{"type":"int64","name":"io.debezium.time.MicroTimestamp"}`, `-1`, stamp(-1, time.Unix(0, -1e3).UTC())},
		{`{"type":"int64","name":"io.debezium.time.NanoTimestamp"}`, `1704067200000000001`,
			stamp(1704067200000000001, day.Add(1))},
		{`{"type":"int32","name":"io.debezium.time.Year"}`, `2024`, stamp(2024, day)},
		{`{"type":"string","name":"io.debezium.time.ZonedTimestamp"}`, `"2024-01-01T00:00:00Z"`,
			schema.Value{Type: schema.Text, Text: "2024-01-01T00:00:00Z"}},
		{`{"type":"string","name":"io.debezium.time.IsoDate"}`, `"2024-01-01Z"`,
			schema.Value{Type: schema.Text, Text: "2024-01-01"}},
		{`{"type":"int64","name":"io.debezium.time.MicroTime"}`, `43200000000`, number(43200000000)},
		{`{"type":"int64","name":"io.debezium.time.MicroDuration"}`, `5`, number(5)},
		{`{"type":"string","name":"io.debezium.time.Interval"}`, `"P1Y2M"`, schema.Value{Type: schema.Text, Text: "P1Y2M"}},
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"1"}}`, `"AZ8="`,
			numeral("41.5", 41.5)},
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}`, `"/w=="`,
			numeral("-0.01", -0.01)},
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"0"}}`, `"1234"`,
			numeral("-2658824", -2658824)},
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"-2"}}`, `"Aw=="`,
			numeral("300", 300)},
		// decimal.format=NUMERIC
		{`{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}`, `41.5`, number(41.5)},
		{`{"type":"struct","name":"io.debezium.data.VariableScaleDecimal"}`, `{"scale":2,"value":"EDY="}`,
			numeral("41.50", 41.5)},
		{`{"type":"string"}`, `"41.50"`, numeral("41.50", 41.5)},
		{`{"type":"string"}`, `"1234"`, numeral("1234", 1234)},
		{`{"type":"bytes"}`, `"1234"`, schema.Value{Type: schema.Text, Text: "1234"}},
		{`{"type":"string","name":"io.debezium.data.Enum","parameters":{"allowed":"a,b"}}`, `"a"`,
			schema.Value{Type: schema.Text, Text: "a"}},
		{`{"type":"string","name":"io.debezium.data.Uuid"}`, `"0d7e8ae6-6b2a-4b7f-9a57-1f3f8a1d4c11"`,
			schema.Value{Type: schema.Text, Text: "0d7e8ae6-6b2a-4b7f-9a57-1f3f8a1d4c11"}},
		{`{"type":"bytes","name":"io.debezium.data.Bits","parameters":{"length":"16"}}`, `"AQI="`, number(513)},
		{`{"type":"struct","name":"io.debezium.data.geometry.Point"}`, `{"x":1,"y":2,"wkb":"AQ==","srid":null}`,
			schema.Value{Type: schema.Other, Text: "a value (io.debezium.data.geometry.Point)"}},
		{`{"type":"struct","name":"shop.Address"}`, `{"city":"Ulm"}`,
			schema.Value{Type: schema.Other, Text: "an object (shop.Address)"}},
		{`{"type":"array","items":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal",` +
			`"parameters":{"scale":"1"}}}`, `["AZ8=","Cg=="]`,
			schema.Value{Type: schema.Vector, Vector: []float32{41.5, 1}}},
		{`{"type":"array","items":{"type":"string"}}`, `["vip"]`,
			schema.Value{Type: schema.Other, Text: `a list whose element 0 is "vip"`}},
		{`{"type":"boolean"}`, `true`, schema.Value{Type: schema.Bool, Number: 1}},
		{`{"type":"int64","name":"io.debezium.time.MicroTimestamp"}`, `null`, schema.Value{}},
	} {
		typ := ParseType([]byte(`{"type":"struct","fields":[` + tc.field[:len(tc.field)-1] + `,"field":"x"}]}`)).Field("x")
		if typ == nil {
			t.Fatalf("%s has no type", tc.field)
		}
		var got schema.Value
		NewReader(Options{Unit: Guess, Placeholder: DefaultPlaceholder}).Value(&got, []byte(tc.value), typ)
		same(t, tc.field+" "+tc.value, got, tc.want)
	}
}

// same compares the fields of two values that belong to their type.
func same(t *testing.T, name string, got, want schema.Value) {
	t.Helper()
	if got.Type != schema.Stamp && got.Type != schema.Time {
		got.Time = time.Time{}
	}
	if got.Type == schema.Vector || want.Type == schema.Vector {
		if fmt.Sprint(got.Vector) != fmt.Sprint(want.Vector) || got.Type != want.Type {
			t.Errorf("%s: %v %v, want %v %v", name, got.Type, got.Vector, want.Type, want.Vector)
		}
		return
	}
	if got.Type == schema.Other || got.Type == schema.Unavailable {
		got.Number = 0
	}
	if got.Type != want.Type || got.Text != want.Text || got.Number != want.Number || !got.Time.Equal(want.Time) {
		t.Errorf("%s: %v %q %v %v, want %v %q %v %v", name, got.Type, got.Text, got.Number, got.Time, want.Type, want.Text,
			want.Number, want.Time)
	}
}

// Without a schema a number is a time in the one unit that its magnitude leaves, and a text of digits that may be
// base64 is no number.
func TestValuesWithoutTypes(t *testing.T) {
	r := NewReader(Options{Unit: Guess})
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]struct {
		typ schema.ValueType
		at  time.Time
	}{
		`19723`: {schema.Stamp, day}, `1704067200000`: {schema.Stamp, day}, `1704067200000000`: {schema.Stamp, day},
		`1704067200000000000`: {schema.Stamp, day}, `0`: {schema.Stamp, time.Unix(0, 0)},
		`-631152000000`:    {schema.Stamp, time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)},
		`-631152000000000`: {schema.Stamp, time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)},
		`1704067200`:       {schema.Number, time.Time{}}, // seconds, or milliseconds of January 1970
		`41.5`:             {schema.Number, time.Time{}}, `1e3`: {schema.Number, time.Time{}},
		`"41.50"`: {schema.Numeral, time.Time{}}, `"-7"`: {schema.Numeral, time.Time{}},
		`"42"`: {schema.Numeral, time.Time{}}, `"-123"`: {schema.Numeral, time.Time{}},
		`"1234"`: {schema.Text, time.Time{}}, `"AZ8="`: {schema.Text, time.Time{}}, `""`: {schema.Text, time.Time{}},
		`"e"`: {schema.Text, time.Time{}},
		`"+"`: {schema.Text, time.Time{}}, `"1.2.3"`: {schema.Text, time.Time{}}, `"12-3"`: {schema.Text, time.Time{}},
		`"Infinity"`:                 {schema.Text, time.Time{}},
		`{"scale":0,"value":"Ag=="}`: {schema.Numeral, time.Time{}}, `{"scale":0,"value":"Ag==","x":1}`: {schema.Other,
			time.Time{}},
		`[]`: {schema.Vector, time.Time{}}, `[1,null]`: {schema.Other, time.Time{}}, `[1e99]`: {schema.Vector, time.Time{}},
		`1e999`:     {schema.Number, time.Time{}},
		`[{"a":1}]`: {schema.Other, time.Time{}}, `-9223372036854775808`: {schema.Stamp, time.Unix(0, -1<<63)},
	} {
		var got schema.Value
		if r.Value(&got, []byte(value), nil); got.Type != want.typ || want.typ == schema.Stamp && !got.Time.Equal(want.at) {
			t.Errorf("%s: %v %v %q, want %v %v", value, got.Type, got.Time, got.Text, want.typ, want.at)
		}
	}
	var v schema.Value
	if NewReader(Options{TextDecimals: true}).Value(&v, []byte(`"1234"`), nil); v.Type != schema.Numeral ||
		v.Number != 1234 {
		t.Errorf("with text decimals 1234 is %v %v", v.Type, v.Number)
	}
	if NewReader(Options{Unit: 1e9}).Value(&v, []byte(`1704067200`), nil); v.Type != schema.Stamp || !v.Time.Equal(day) {
		t.Errorf("in seconds: %v %v", v.Type, v.Time)
	}
}

// Each unit's guess is right for all times of 1678 to 2262 that are not within 107 days of 1970.
func TestGuessedUnits(t *testing.T) {
	for year := 1680; year < 2262; year++ {
		at := time.Date(year, 6, 15, 13, 14, 15, 0, time.UTC)
		day := time.Date(year, 6, 15, 0, 0, 0, 0, time.UTC)
		for n, want := range map[int64]time.Time{at.UnixMilli(): at, at.UnixMicro(): at, at.UnixNano(): at,
			day.Unix() / 86400: day} {
			if got, is := guess(n); !is || !got.Equal(want) {
				t.Fatalf("%d is %v, %v, want %v", n, got, is, want)
			}
		}
	}
}

// The placeholder in every form in which Debezium writes it, and what only looks like it.
func TestPlaceholder(t *testing.T) {
	p := DefaultPlaceholder
	encoded := base64.StdEncoding.EncodeToString([]byte(p))
	var ints, floats, decimals, scaled []byte
	for i, b := range []byte(p) {
		if i > 0 {
			for _, list := range []*[]byte{&ints, &floats, &decimals, &scaled} {
				*list = append(*list, ',')
			}
		}
		one := base64.StdEncoding.EncodeToString([]byte{b})
		ints, floats = fmt.Append(ints, b), fmt.Appendf(floats, "%d.0", b)
		decimals, scaled = fmt.Appendf(decimals, "%q", one), fmt.Appendf(scaled, `{"scale":0,"value":%q}`, one)
	}
	list := func(inner []byte) string { return "[" + string(inner) + "]" }
	reader := NewReader(Options{Placeholder: p})
	for value, is := range map[string]bool{
		`"` + p + `"`: true, `"` + encoded + `"`: true, fmt.Sprintf(`"%x"`, p): true, `["` + p + `"]`: true,
		`["` + encoded + `"]`:                      true,
		`"\u005f_debezium_unavailable_value"`:      true,
		`{"` + p + `":"` + p + `"}`:                true,
		`"{\"` + p + `\":\"` + p + `\"}"`:          true,
		`["8a2d0e6f-c0b4-3ef5-9f6c-0d2f2e5e3b0a"]`: false,
		list(ints): true, list(floats): true, list(decimals): true, list(scaled): true,
		list(append(bytes.Clone(ints), ",1"...)): false, list(ints[:len(ints)-4]): false, `[95]`: false, `[]`: false,
		`{}`:           false,
		`"` + p + `!"`: false, `"likes tea"`: false, `["` + p + `","n1"]`: false, `["n1","` + p + `"]`: false, `95`: false,
		`null`: false,
	} {
		if got := reader.placeholder.is([]byte(value)); got != is {
			t.Errorf("%s: %v, want %v", value, got, is)
		}
	}
	var uuid string
	for form := range reader.placeholder.texts {
		if len(form) == 36 {
			uuid = form
		}
	}
	if len(uuid) != 36 || uuid[14] != '3' || !reader.placeholder.is([]byte(`["`+uuid+`"]`)) {
		t.Errorf("the UUID of version 3 is %q", uuid)
	}
	if NewReader(Options{}).placeholder.is([]byte(`"` + p + `"`)) {
		t.Error("without a placeholder something is one")
	}
	var v schema.Value
	if reader.Value(&v, []byte(`"`+p+`"`), nil); v.Type != schema.Unavailable {
		t.Errorf("a placeholder is %v", v.Type)
	}
	if NewReader(Options{Placeholder: p, Missing: true}).Value(&v, []byte(`"`+p+`"`), nil); v.Type != schema.Missing {
		t.Errorf("a placeholder that counts as missing is %v", v.Type)
	}
}

func TestDecimals(t *testing.T) {
	for _, tc := range []struct {
		bytes []byte
		scale int
		want  string
	}{
		{[]byte{0}, 0, "0"}, {[]byte{0}, 2, "0.00"}, {[]byte{0xff}, 0, "-1"}, {[]byte{0x80}, 3, "-0.128"},
		{[]byte{0x00, 0xff}, 0, "255"},
		{[]byte{0xc4, 0x65, 0x36, 0x00}, 4, "-100000.0000"}, {[]byte{1}, -3, "1000"}, {nil, 0, "0"},
		{[]byte{0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0, "18446744073709551615"},
	} {
		if got := string(AppendDecimal(nil, tc.bytes, tc.scale)); got != tc.want {
			t.Errorf("%x with scale %d: %s, want %s", tc.bytes, tc.scale, got, tc.want)
		}
	}
}

// Whatever the bytes of a value are, reading it ends without a panic.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{`{"scale":99999999,"value":"AQ=="}`, `{"scale":1,"value":1}`, `[[[]]]`, `"\ud800"`,
		`{"a":{"b":[1]}}`, `[95,95]`} {
		f.Add(seed)
	}
	r := NewReader(Options{Unit: Guess, Placeholder: DefaultPlaceholder})
	types := []*Type{nil}
	for m := Plain; m <= Unreadable; m++ {
		types = append(types, &Type{Meaning: m, Items: &Type{Meaning: m}})
	}
	f.Fuzz(func(_ *testing.T, value string) {
		text := bytes.TrimSpace([]byte(value))
		if len(text) == 0 || !valid(text) {
			return
		}
		for _, typ := range types {
			var v schema.Value
			r.Value(&v, text, typ)
			_, _ = r.AppendPlain(nil, text, typ)
			_, _ = r.AppendTime(nil, text, typ)
		}
	})
}

func valid(text []byte) bool { return jsontext.Value(text).IsValid() }
