package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/test/expect"
)

// typedColumns are users with an age and a plan, and items with a price that is missing once.
func typedColumns() []Column {
	return []Column{
		{Name: "node_type", Type: Text, Texts: []string{"user", "user", "user", "item", "item", "item"}},
		{Name: "age", Type: Number, Numbers: []float64{20, 30, 40, 0, 0, 0}, Missing: []bool{3: true, 4: true, 5: true}},
		{Name: "price", Type: Number, Numbers: []float64{0, 0, 0, 5, 7, 0},
			Missing: []bool{true, true, true, false, false, true}},
		{Name: "kind", Type: Text, Texts: []string{"", "", "", "a", "a", "b"},
			Missing: []bool{true, true, true, false, false, false}},
	}
}

func typedSchema(t *testing.T, zero bool) *Schema {
	t.Helper()
	s, err := Fit(typedColumns(), []int32{0, 1, 2, 3, 4, 5}, FitOptions{MinCount: 1, Zero: zero,
		Kinds: map[string]string{"kind": "category"},
		Types: &Types{Column: "node_type", Arriving: []string{"user"},
			Of: map[string]string{"age": "user", "price": "item", "kind": "item"}}})
	expect.OK(t, err)
	return s
}

// Each type of nodes has positions of its own, which are the mean or 0 in rows of other types and never say "missing".
func TestTypesOfNodesHaveBlocks(t *testing.T) {
	s := typedSchema(t, false)
	want := []string{"node_type=item", "node_type=user", "node_type=(other)", "age", "price", "price=(missing)",
		"kind=a", "kind=b", "kind=(other)"}
	if diff := cmp.Diff(want, s.Names()); diff != "" {
		t.Fatal(diff)
	}
	rows, err := s.EncodeColumns(typedColumns())
	expect.OK(t, err)
	for i, want := range map[int][]float32{1: {0, 1, 0, 30, 6, 0, 0, 0, 0}, 3: {1, 0, 0, 30, 5, 0, 1, 0, 0},
		5: {1, 0, 0, 30, 6, 1, 0, 1, 0}} {
		if diff := cmp.Diff(want, rows.Dense[i*s.Width():(i+1)*s.Width()]); diff != "" {
			t.Errorf("node %d: %s", i, diff)
		}
	}
	rows, err = typedSchema(t, true).EncodeColumns(typedColumns())
	expect.OK(t, err)
	if got := rows.Dense[3*s.Width()+3]; got != 0 {
		t.Errorf("age of an item is %v where absent features are 0", got)
	}
	text, _ := s.MarshalJSON()
	if again, err := Parse(text); err != nil || again.Hash() != s.Hash() {
		t.Errorf("read again: %v", err)
	}
}

// An arrival has a type with a task, and no features of other types. It need not name the type where only one has a
// task.
func TestTypesOfArrivals(t *testing.T) {
	s := typedSchema(t, false)
	row := make([]float32, s.Width())
	number := func(name string, v float64) Field { return Field{name, Value{Type: Number, Number: v}} }
	kind := func(name string) Field { return Field{"node_type", Value{Type: Text, Text: name}} }
	for _, fields := range [][]Field{{number("age", 25)}, {kind("user"), number("age", 25)},
		{number("age", 25), {Name: "price"}}} {
		expect.OK(t, s.Encode(row, fields))
		if diff := cmp.Diff([]float32{0, 1, 0, 25, 6, 0, 0, 0, 0}, row); diff != "" {
			t.Error(diff)
		}
	}
	for words, fields := range map[string][]Field{
		`feature "node_type": the string "item", want the type of an arriving node: user`:              {kind("item")},
		`feature "node_type": the string "shop", want the type of an arriving node: user`:              {kind("shop")},
		`feature "price": it is a feature of nodes of the type item, and the node is of the type user`: {number("price", 3)},
		`feature "kind": it is a feature of nodes of the type item, and the node is of the type user`: {
			{"kind", Value{Type: Text, Text: "a"}}},
	} {
		if err := s.Encode(row, fields); err == nil || err.Error() != words {
			t.Errorf("error %v, want %s", err, words)
		}
	}
	for words, change := range map[string][2]string{
		`features[1].of is "shop", want one of item, user`:      {`"of":"user"`, `"of":"shop"`},
		`features[0].arriving has "shop", which is no category`: {`"arriving":["user"]`, `"arriving":["shop"]`},
		`and no feature has arriving`:                           {`"arriving":["user"]`, `"mean":[]`},
		`features[0].arriving is []`:                            {`"arriving":["user"]`, `"arriving":[]`},
	} {
		text, _ := s.MarshalJSON()
		expect.Error(t, expect.ErrorOf(Parse([]byte(strings.Replace(string(text), change[0], change[1], 1)))), words)
	}
}
