package schema

import (
	"fmt"
	"strings"
	"time"
)

const (
	// mostCategories is the largest number of distinct texts that are taken for categories.
	mostCategories = 1000
	// repeats is the number of rows that a distinct text must have on average for the column to be categories.
	repeats = 2
)

// summary holds [Fit]'s figures of a column: its values on the original nodes, seen once.
type summary struct {
	column    *Column
	rows      int
	missing   int
	different bool           // at least two values differ; vectors always do
	counts    map[string]int // of texts, and of all values where categories are counted
	several   int            // texts of more than one word
	latest    time.Time      // as long as notTime is nil
	length    int            // of the first vector
	// notCategory and notTime name the first value that cannot be a category or a time; nil without any.
	notCategory, notTime error
}

// summarize reads the values of some rows. Numbers and bools are counted as categories only where that is asked for, or
// where the table declares them to be categories.
func summarize(c *Column, rows []int32, categories bool) *summary {
	s := &summary{column: c, rows: len(rows), counts: map[string]int{}}
	as, first := Feature{Name: c.Name}, Value{}
	for _, i := range rows {
		v := c.At(int(i))
		if v.Type == Missing {
			s.missing++
			continue
		}
		if first.Type == Missing {
			first, s.length = v, len(v.Vector)
		}
		s.different = s.different || v.Type == Vector || v.Number != first.Number || v.Text != first.Text ||
			!v.Time.Equal(first.Time)
		if s.notTime == nil {
			var t time.Time
			if t, s.notTime = as.moment(&v); s.latest.IsZero() || t.After(s.latest) {
				s.latest = t
			}
		}
		switch {
		case v.Type == Text:
			s.counts[v.Text]++
			if len(strings.Fields(v.Text)) > 1 {
				s.several++
			}
		case v.Type != Number && v.Type != Bool:
			if s.notCategory == nil {
				s.notCategory = fmt.Errorf("%s, which is no category", v.describe())
			}
		case categories || c.Categorical:
			s.counts[string(appendCategory(nil, &v))]++
		}
	}
	return s
}

// usualKinds are the kinds of columns that are no texts.
var usualKinds = map[ValueType]Kind{Number: KindNumber, Bool: KindBool, Vector: KindVector, Time: KindAge}

// kind chooses the kind of the column, or returns why it is no feature.
func (s *summary) kind() (spec Spec, reason string) {
	switch c := s.column; {
	case s.missing == s.rows:
		return spec, "all values of the original nodes are missing"
	case s.missing == 0 && !s.different:
		return spec, "all original nodes have the same value"
	case c.Categorical && c.Type != Vector && c.Type != Time:
		return Spec{Kind: KindCategory}, ""
	case c.Type == Text:
		return s.kindOfText()
	}
	return Spec{Kind: usualKinds[s.column.Type]}, ""
}

func (s *summary) kindOfText() (spec Spec, reason string) {
	present := s.rows - s.missing
	switch {
	case s.notTime == nil:
		return Spec{Kind: KindAge}, ""
	case len(s.counts) <= mostCategories && len(s.counts)*repeats <= present:
		return Spec{Kind: KindCategory}, ""
	case s.several*2 >= present:
		return Spec{Kind: KindText}, ""
	}
	return spec, fmt.Sprintf("%d different values of one word in %d nodes: an id?", len(s.counts), present)
}
