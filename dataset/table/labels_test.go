package table

import (
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
