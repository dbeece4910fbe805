package schema

import (
	"testing"
	"time"

	"rivulet/test/expect"
)

// A value of an arrival becomes one of the column's type where it has a form there, and is missing where not; the copy
// that it is appended to leaves the column as it was.
func TestAppendToAColumn(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	number, yes, text, moment := Value{Type: Number, Number: 2.5}, Value{Type: Bool, Number: 1},
		Value{Type: Text, Text: "DE"}, Value{Type: Time, Time: at}
	vector := Value{Type: Vector, Vector: []float32{1, 2}}
	for name, c := range map[string]struct {
		column Column
		add    []Value
		want   []Value
	}{
		"numbers": {Column{Type: Number, Numbers: []float64{7}}, []Value{number, yes, {}, vector},
			[]Value{{Type: Number, Number: 7}, number, {Type: Number, Number: 1}, {}, {}}},
		"bools": {Column{Type: Bool, Bools: []bool{true}}, []Value{{Type: Number}, number},
			[]Value{yes, {Type: Bool}, {}}},
		"category": {Column{Type: Number, Numbers: []float64{7, 0}, Missing: []bool{false, true}}, []Value{text, number},
			[]Value{{Type: Text, Text: "7"}, {}, text, {Type: Text, Text: "2.5"}}},
		"flags": {Column{Type: Bool, Bools: []bool{true}}, []Value{text}, []Value{{Type: Text, Text: "true"}, text}},
		"texts": {Column{Type: Text, Texts: []string{"a"}}, []Value{yes, moment, vector},
			[]Value{{Type: Text, Text: "a"}, {Type: Text, Text: "true"}, {Type: Text, Text: "2026-03-01T12:00:00Z"}, {}}},
		"times": {Column{Type: Time, Times: []time.Time{at}}, []Value{{Type: Text, Text: "2026-03-01"}, text, number},
			[]Value{moment, {Type: Time, Time: at.Add(-12 * time.Hour)}, {}, {}}},
		"vectors": {Column{Type: Vector, Vectors: [][]float32{{3, 4}}}, []Value{vector, {}},
			[]Value{{Type: Vector, Vector: []float32{3, 4}}, vector, {}}},
	} {
		before, grown := c.column.Clone(), c.column.Clone()
		for _, v := range c.add {
			grown.Append(v)
		}
		got := make([]Value, grown.Len())
		for i := range got {
			got[i] = grown.At(i)
		}
		expect.Same(t, c.want, got, "%s", name)
		expect.Same(t, before, c.column, "%s: the column has changed", name)
	}
}
