package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// NodeColumns holds the index of each column of a table of nodes; -1 if there is none.
type NodeColumns struct {
	ID, Label, Split int
	List             int   // the column features; -1: Features are columns of their own
	Features         []int // every other column; nil if there is a List
	Ignored          []string
}

// PlanNodes finds the columns id, label, split and features by name. Without a column features every column beside
// the first three is a feature, in the order of the table; with it they are ignored. Only id and some features are
// required.
func PlanNodes(names []string) (NodeColumns, error) {
	if err := distinctNames(names); err != nil {
		return NodeColumns{}, err
	}
	c := NodeColumns{
		ID:    slices.Index(names, "id"),
		Label: slices.Index(names, "label"),
		Split: slices.Index(names, "split"),
		List:  slices.Index(names, "features"),
	}
	if c.ID < 0 {
		return c, fmt.Errorf("no column id among %s", listed(names))
	}
	if c.Label < 0 {
		return c, fmt.Errorf("no column label among %s", listed(names))
	}
	for i, name := range names {
		switch {
		case i == c.ID || i == c.Label || i == c.Split || i == c.List:
		case c.List >= 0:
			c.Ignored = append(c.Ignored, name)
		default:
			c.Features = append(c.Features, i)
		}
	}
	if c.List < 0 && len(c.Features) == 0 {
		return c, fmt.Errorf("no features among %s: want a column features or a column for each", listed(names))
	}
	return c, nil
}

// EdgeColumns holds the index of each column of a table of edges; -1 if there is none.
type EdgeColumns struct {
	Source, Target, Weight int
	Ignored                []string
}

// PlanEdges finds the columns source, target and weight by name. Others are ignored.
func PlanEdges(names []string) (EdgeColumns, error) {
	if err := distinctNames(names); err != nil {
		return EdgeColumns{}, err
	}
	c := EdgeColumns{
		Source: slices.Index(names, "source"),
		Target: slices.Index(names, "target"),
		Weight: slices.Index(names, "weight"),
	}
	if c.Source < 0 || c.Target < 0 {
		return c, fmt.Errorf("want columns source and target among %s", listed(names))
	}
	for i, name := range names {
		if i != c.Source && i != c.Target && i != c.Weight {
			c.Ignored = append(c.Ignored, name)
		}
	}
	return c, nil
}

// listed returns the first of many names, for errors.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%q and %d more", names[:most], len(names)-most)
	}
	return fmt.Sprintf("%q", names)
}

func distinctNames(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("two columns are named %.100q", name)
		}
		seen[name] = true
	}
	return nil
}

// ParseValue reads one feature from text. Empty text, NaN, infinities and values beyond float32 are errors.
func ParseValue(text string) (float32, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, errors.New("a feature is empty")
	}
	v, err := strconv.ParseFloat(text, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%.40q is beyond the range of float32", text)
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a number", text)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%.40q is not a finite number", text)
	}
	return float32(v), nil
}

// AppendValues reads a list of features from text: numbers between spaces, semicolons or commas, with or without
// square brackets around them.
func AppendValues(dst []float32, text string) ([]float32, error) {
	text = strings.TrimSpace(text)
	if inner, open := strings.CutPrefix(text, "["); open {
		closed := false
		if text, closed = strings.CutSuffix(inner, "]"); !closed {
			return dst, fmt.Errorf("the list %.40q… has no closing bracket", "["+inner)
		}
	}
	place := 0
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;,", r) }) {
		v, err := ParseValue(field)
		if err != nil {
			return dst, fmt.Errorf("[%d]: %w", place, err)
		}
		dst = append(dst, v)
		place++
	}
	return dst, nil
}

// CheckWeight refuses an edge with a weight other than 1.
func CheckWeight(v float64) error {
	if v != 1 {
		return fmt.Errorf("it is %v, want 1: weighted graphs are not supported", v)
	}
	return nil
}

// noteIgnored notes, once a table, which columns were ignored.
func (d *Dataset) noteIgnored(table string, names []string) {
	if len(names) > 0 {
		d.note("Columns of %s that were ignored: %s.", table, listed(names))
	}
}
