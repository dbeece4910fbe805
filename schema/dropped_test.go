package schema

import (
	"testing"

	"rivulet/test/expect"
)

// A column that was dropped when the table was read is known to the schema: an arrival that brings it is read as if it
// did not.
func TestColumnsThatTheReaderDropped(t *testing.T) {
	columns := []Column{{Name: "age", Type: Number, Numbers: []float64{1, 2, 3}}}
	s, err := Fit(columns, []int32{0, 1, 2}, FitOptions{Dropped: []string{"secret", "age"}})
	expect.OK(t, err)
	if u := s.Unused(); len(u) != 1 || u[0].Name != "secret" {
		t.Errorf("unused columns are %v", u)
	}
	row := make([]float32, s.Width())
	fields := []Field{{Name: "age", Value: Value{Type: Number, Number: 2}},
		{Name: "secret", Value: Value{Type: Other, Text: "an object"}}}
	if err := s.Encode(row, fields); err != nil || row[0] != 2 {
		t.Errorf("%v, %v", row, err)
	}
	fields[1].Name = "id"
	if err := s.Encode(row, fields); err == nil {
		t.Error("an unknown name is passed over")
	}
	if err := s.WithOptional(func(name string) bool { return name == "id" }).Encode(row, fields); err != nil {
		t.Errorf("the row's own id: %v", err)
	}
}

// The values of records that say less than a table, by the kind of the feature that is made of them.
func TestValuesOfTwoTypes(t *testing.T) {
	columns := []Column{
		{Name: "age", Type: Number, Numbers: []float64{1, 2, 3}},
		{Name: "plan", Type: Text, Texts: []string{"7", "8", "7"}, Categorical: true},
	}
	s, err := Fit(columns, []int32{0, 1, 2}, FitOptions{MinCount: 1})
	expect.OK(t, err)
	row := make([]float32, s.Width())
	for _, tc := range []struct {
		age, plan Value
		fails     bool
	}{
		{Value{Type: Stamp, Number: 2}, Value{Type: Numeral, Text: "7.0", Number: 7}, false},
		{Value{Type: Numeral, Text: "2.00", Number: 2}, Value{Type: Stamp, Number: 7}, false},
		{Value{Type: Number, Number: 2}, Value{Type: Numeral, Text: "7", Number: 7}, false},
		{Value{Type: Other, Text: "an object"}, Value{}, true},
		{Value{Type: Unavailable, Text: "a placeholder"}, Value{}, true},
		{Value{Type: Text, Text: "AZ8="}, Value{}, true},
	} {
		err := s.Encode(row, []Field{{"age", tc.age}, {"plan", tc.plan}})
		if (err != nil) != tc.fails || err == nil && (row[0] != 2 || row[1] != 1) {
			t.Errorf("%+v: %v, %v", tc, row, err)
		}
	}
}
