package schema

import (
	"fmt"
	"strings"
)

const (
	// mostCategories is the largest number of distinct texts that are taken for categories.
	mostCategories = 1000
	// repeats is how many rows a distinct text must have on average for the column to be categories.
	repeats = 2
)

// automatic chooses the kind of a column, or returns why it is no feature.
func automatic(c *Column, rows []int32, missing int) (s Spec, reason string) {
	if missing == len(rows) {
		return s, "all values of the original nodes are missing"
	}
	if missing == 0 && constant(c, rows) {
		return s, "all original nodes have the same value"
	}
	if c.Categorical && c.Type != Vector && c.Type != Time {
		return Spec{Kind: KindCategory}, ""
	}
	switch c.Type {
	case Number:
		return Spec{Kind: KindNumber}, ""
	case Bool:
		return Spec{Kind: KindBool}, ""
	case Vector:
		return Spec{Kind: KindVector}, ""
	case Time:
		return Spec{Kind: KindAge}, ""
	}
	return automaticText(c, rows, len(rows)-missing)
}

func automaticText(c *Column, rows []int32, present int) (s Spec, reason string) {
	distinct := map[string]bool{}
	dates, several := true, 0
	for _, i := range rows {
		v := c.At(int(i))
		if v.Type != Text {
			continue
		}
		distinct[v.Text] = true
		if dates {
			_, err := parseTime(v.Text)
			dates = err == nil
		}
		if len(strings.Fields(v.Text)) > 1 {
			several++
		}
	}
	switch {
	case dates:
		return Spec{Kind: KindAge}, ""
	case len(distinct) <= mostCategories && len(distinct)*repeats <= present:
		return Spec{Kind: KindCategory}, ""
	case several*2 >= present:
		return Spec{Kind: KindText}, ""
	}
	return s, fmt.Sprintf("%d different values of one word in %d nodes: an id?", len(distinct), present)
}

// constant reports whether all rows have the same value.
func constant(c *Column, rows []int32) bool {
	first := c.At(int(rows[0]))
	for _, i := range rows[1:] {
		v := c.At(int(i))
		if v.Type == Vector || v.Number != first.Number || v.Text != first.Text || !v.Time.Equal(first.Time) {
			return false
		}
	}
	return true
}
