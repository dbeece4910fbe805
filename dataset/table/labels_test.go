package table

import (
	"math"
	"slices"
	"testing"

	"rivulet/test/expect"
)

func TestSplitLabels(t *testing.T) {
	for text, want := range map[string][]string{
		"a;b": {"a", "b"}, ";": {}, "[]": {}, "{}": {}, `["a", "b"]`: {"a", "b"}, "['a','b c']": {"a", "b c"},
		"{'a', 'b'}": {"a", "b"}, "{a,b}": {"a", "b"}, `{a,"b c"}`: {"a", "b c"}, "['a' 'b c'\n 'd']": {"a", "b c", "d"},
		"['a']": {"a"},
	} {
		if got, err := SplitLabels(text, ""); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q gives %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"[a, b": "no closing bracket", "{a, b]": "no closing bracket",
		"['a', 'a']": "there twice"} {
		expect.Error(t, expect.ErrorOf(SplitLabels(text, "")), want, text)
	}
}

// Labels that are numbers may be floats of a file with types, such as Parquet: they are values and not names.
func TestNumberLabelsOfTypedFiles(t *testing.T) {
	r, err := newNodeReader(Settings{Task: "number", Label: "income"}, []string{"id", "income", "split", "x"}, true)
	expect.OK(t, err)
	for _, test := range []struct {
		income float64
		split  string
		label  string
	}{{1001.5, "train", "1001.5"}, {-3, "test", "-3"}, {1e-9, "val", "1e-09"}, {math.NaN(), "unlabelled", ""}} {
		var n Node
		err := r.readHead([]Cell{{Kind: Text, Text: "a"}, {Kind: Float, Float: test.income},
			{Kind: Text, Text: test.split}}, &n)
		if err != nil || n.Label != test.label {
			t.Errorf("%v: label %q and %v, want %q", test.income, n.Label, err, test.label)
		}
	}
}
