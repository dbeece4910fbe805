package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/dataset/table"
	"rivulet/test/expect"
)

// The marks of missing values mean the same in labels, numbers, categories, times and lists, whatever their case. A
// note says how many labels are missing.
func TestMarksOfMissingValues(t *testing.T) {
	for _, mark := range []string{`\N`, "unknown", "Unknown", "N/A", "NA", "None", "NaN", "null", "NULL", "-", "?", "nil",
		"missing", "<NA>", "(null)", "#N/A", ""} {
		var nodes strings.Builder
		nodes.WriteString("id,x,plan,since,v,label\n")
		for i := range 60 {
			if i%3 == 0 {
				fmt.Fprintf(&nodes, "n%d,%s,%s,%s,%s,%s\n", i, mark, mark, mark, mark, mark)
				continue
			}
			fmt.Fprintf(&nodes, "n%d,%d,%c,2026-01-%02d,[1 %d],%d\n", i, i%7, 'p'+i%2, 1+i%20, i, i%2)
		}
		d, err := openTexts(t, nodes.String(), "source,target\nn1,n2\n", table.Settings{})
		if err != nil {
			t.Errorf("%q: %v", mark, err)
			continue
		}
		if !slices.Equal(d.Classes, []string{"0", "1"}) || len(d.Unlabelled) != 20 {
			t.Errorf("%q: classes %q, %d unlabelled, want 2 and 20", mark, d.Classes, len(d.Unlabelled))
		}
		for _, c := range d.Columns {
			if c.Missing == nil || !c.Missing[3] || c.Missing[4] {
				t.Errorf("%q: column %s (%s) has no missing values", mark, c.Name, c.Type)
			}
		}
		said := strings.Contains(strings.Join(d.Notes, " "), fmt.Sprintf("%q (20 nodes) is read as no label", mark))
		if said != (mark != "") {
			t.Errorf("%q: notes %q", mark, d.Notes)
		}
	}
}

// A word such as none is a class where one class would be left without it; \N is none there, either.
func TestMarksThatAreClasses(t *testing.T) {
	for _, c := range []struct {
		values  []string
		classes string
	}{
		{[]string{"fraud", "none"}, "[fraud none]"}, {[]string{"+", "-"}, "[+ -]"}, {[]string{"yes", "no", "-"}, "[no yes]"},
		{[]string{"None", "bad", `\N`}, "[None bad]"}, {[]string{"true", "false", "unknown"}, "[false true]"},
	} {
		var nodes strings.Builder
		nodes.WriteString("id,x,label\n")
		for i := range 60 {
			fmt.Fprintf(&nodes, "n%d,%d,%s\n", i, i%7, c.values[i%len(c.values)])
		}
		d, err := openTexts(t, nodes.String(), "source,target\nn1,n2\n", table.Settings{})
		expect.OK(t, err)
		if got := fmt.Sprint(d.Classes); got != c.classes {
			t.Errorf("%q: classes %s, want %s", c.values, got, c.classes)
		}
	}
}
