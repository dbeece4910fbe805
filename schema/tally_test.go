package schema

import (
	"testing"

	"rivulet/test/expect"
)

// Missing values and categories that the table did not have are counted by feature; rows are the same.
func TestTally(t *testing.T) {
	columns := []Column{
		{Name: "age", Type: Number, Numbers: []float64{1, 2, 3, 4}},
		{Name: "plan", Type: Text, Texts: []string{"gold", "free", "gold", "free"}, Categorical: true},
		{Name: "zone", Type: Number, Numbers: []float64{1, 2, 1, 2}},
	}
	s, err := Fit(columns, []int32{0, 1, 2, 3}, FitOptions{MinCount: 1, Kinds: map[string]string{"zone": "category"}})
	expect.OK(t, err)
	tally := &Tally{}
	counting := s.Counting(tally)
	text := func(v string) Value { return Value{Type: Text, Text: v} }
	for _, fields := range [][]Field{
		{{"age", Value{Type: Number, Number: 2}}, {"plan", text("gold")}, {"zone", Value{Type: Number, Number: 1}}},
		{{"plan", text("silver")}, {"zone", Value{Type: Number, Number: 7}}},
		{{"age", Value{}}, {"plan", text("bronze")}},
	} {
		want, got := make([]float32, s.Width()), make([]float32, s.Width())
		expect.OK(t, s.Encode(want, fields))
		expect.OK(t, counting.Encode(got, fields))
		expect.Same(t, want, got, "row")
	}
	expect.Same(t, []Count{{"age", 2, 0, ""}, {"plan", 0, 2, "silver"}, {"zone", 1, 1, "7"}}, tally.Counts(), "counts")
}
