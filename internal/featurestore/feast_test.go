package featurestore

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/event"
	"rivulet/schema"
	"rivulet/test/expect"
)

// written are the hashes that Feast wrote (testdata/write_features.py), as their keys, fields and values.
func written(t *testing.T) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/feast.json")
	expect.OK(t, err)
	var dump struct{ Hashes map[string]map[string]string }
	expect.OK(t, json.Unmarshal(text, &dump))
	bytesOf := func(text string) string {
		b, err := hex.DecodeString(text)
		expect.OK(t, err)
		return string(b)
	}
	all := map[string]map[string]any{}
	for key, hash := range dump.Hashes {
		fields := map[string]any{}
		for field, value := range hash {
			fields[bytesOf(field)] = bytesOf(value)
		}
		all[bytesOf(key)] = fields
	}
	return all
}

// What Feast has written is read with the values that it was given: by name under a text as the join key, and as a row
// under a number. An id that Feast does not have, one that is no number, and a key of another type are the faults of
// their ids alone.
func TestFeast(t *testing.T) {
	for name, client := range servers(t) {
		for key, hash := range written(t) {
			expect.OK(t, client.HSet(t.Context(), key, hash).Err())
		}
		o := FeastOptions{Client: client, Project: "shop", JoinKey: "user_id", JoinType: "string", Timeout: 5 * time.Second}
		for _, feature := range strings.Fields(
			"age children income score country premium joined embedding visits tags gone") {
			o.Features = append(o.Features, "users:"+feature)
		}
		users, err := NewFeast(o)
		expect.OK(t, err)
		expect.OK(t, client.Set(t.Context(), users.key("text"), "no hash", 0).Err())
		ids := []string{"u1", "nobody", "Grüße", "text"}
		into := []*event.Features{{Absent: true}, {Absent: true}, {Absent: true}, {Absent: true}}
		faults := make([]*event.FieldError, len(ids))
		if err := users.Read(t.Context(), ids, into, faults); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		joined := time.Date(2020, 5, 17, 8, 30, 0, 0, time.UTC)
		field := func(name string, v schema.Value) schema.Field { return schema.Field{Name: name, Value: v} }
		number := func(x float64) schema.Value { return schema.Value{Type: schema.Number, Number: x} }
		list := func(x ...float32) schema.Value { return schema.Value{Type: schema.Vector, Vector: x} }
		other := schema.Value{Type: schema.Other, Text: "a value of Feast of type 12"}
		want := [][]schema.Field{{field("age", number(31)), field("children", number(2)), field("income", number(2500.5)),
			field("score", number(0.25)), field("country", schema.Value{Type: schema.Text, Text: "Köln"}),
			field("premium", schema.Value{Type: schema.Bool, Number: 1}),
			field("joined", schema.Value{Type: schema.Time, Time: joined}), field("embedding", list(0.5, -1.25, 3)),
			field("visits", list(1, -2, 300)), field("tags", other), field("gone", schema.Value{})}, nil,
			{field("age", number(-5)), field("children", number(0)), field("income", schema.Value{}),
				field("score", number(-1.5)), field("country", schema.Value{Type: schema.Text}),
				field("premium", schema.Value{Type: schema.Bool}), field("joined", schema.Value{Type: schema.Time, Time: joined}),
				field("embedding", list(1)), field("visits", list(7)), field("tags", other), field("gone", schema.Value{})}, nil}
		var got [][]schema.Field
		for _, f := range into {
			got = append(got, f.Named)
		}
		if diff := cmp.Diff(want, got); diff != "" || into[0].Absent {
			t.Errorf("%s: read (-want +got):\n%s", name, diff)
		}
		if faults[0] != nil || faults[2] != nil || faults[1] == nil || faults[1].Reason != event.ReasonFeaturesAbsent ||
			faults[3] == nil || faults[3].Reason != event.ReasonFeaturesStored {
			t.Errorf("%s: faults %v", name, faults)
		}
		if is := faults[1].Detail; !strings.Contains(is, "users:age") || !strings.Contains(is, "user_id nobody, a string") {
			t.Errorf("%s: the fault of an id that Feast does not have does not name what was looked for: %s", name, is)
		}

		o.JoinKey, o.JoinType, o.Features, o.Row = "item_id", "int64", []string{"items:vector"}, true
		items, err := NewFeast(o)
		expect.OK(t, err)
		into, faults = []*event.Features{{}, {}, {}}, make([]*event.FieldError, 3)
		if err := items.Read(t.Context(), []string{"17", "-3", "seventeen"}, into, faults); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows := [][]float32{into[0].Values, into[1].Values}
		if diff := cmp.Diff([][]float32{{1, 0, 2.5}, {0, -4, 0.125}}, rows); diff != "" || faults[0] != nil ||
			faults[1] != nil || faults[2] == nil || !strings.Contains(faults[2].Detail, "no int64") {
			t.Errorf("%s: rows (-want +got):\n%s%v", name, diff, faults)
		}
	}
}

// Settings that name nothing in Feast are refused by what they lack, and damaged values are the fault of their id.
func TestFeastRefuses(t *testing.T) {
	client := servers(t)["embedded"]
	good := FeastOptions{Client: client, Project: "p", JoinKey: "k", JoinType: "string", Features: []string{"v:f"},
		Timeout: time.Second}
	for want, change := range map[string]func(o *FeastOptions){
		"want view:feature":            func(o *FeastOptions) { o.Features = []string{"f"} },
		"need a project":               func(o *FeastOptions) { o.Project = "" },
		"want string, int32 or int64":  func(o *FeastOptions) { o.JoinType = "float" },
		"is one feature of Feast, and": func(o *FeastOptions) { o.Row, o.Features = true, []string{"v:f", "v:g"} },
	} {
		o := good
		change(&o)
		expect.Error(t, expect.ErrorOf(NewFeast(o)), want)
	}
	f, err := NewFeast(good)
	expect.OK(t, err)
	for _, value := range []string{"\xff", "\x1a\xff", "\x82\x01\x03\x0a\x01\x00", "\x1d\x00"} {
		expect.OK(t, client.HSet(t.Context(), f.key("id"), f.fields[0], value).Err())
		faults := make([]*event.FieldError, 1)
		if err := f.Read(t.Context(), []string{"id"}, []*event.Features{{}}, faults); err != nil || faults[0] == nil ||
			faults[0].Reason != event.ReasonFeaturesStored || !strings.Contains(faults[0].Detail, "v:f") {
			t.Errorf("%x: %v, %v", value, err, faults[0])
		}
	}
}
