package table

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rivulet/infer/target"
)

// Labels returns the columns of labels: one of classes; of labels and numbers there may be several. A task of links has
// no labels: in their place stands the column that tells the candidates, or the id where all nodes may be candidates.
func (t Settings) Labels() []string {
	if !t.HasLabels() {
		if column, _, ok := strings.Cut(t.Candidates, "="); ok {
			return []string{column}
		}
		return []string{cmp.Or(t.ID, "id")}
	}
	label := t.Label
	if label == "" {
		label = "label"
	}
	if t.Truth() == target.OneClass {
		return []string{label}
	}
	columns := strings.Split(label, ",")
	for k := range columns {
		columns[k] = strings.TrimSpace(columns[k])
	}
	return columns
}

// SplitLabels returns the names in a cell of labels: a;b with the mark between, a semicolon if it is empty, or a list
// as programs print it: ["a", "b"] or ['a', 'b'], a set {'a', 'b'}, an array of Postgres {a,b} or of NumPy ['a' 'b']. A
// mark alone, or an empty list, is a node that has none of the labels.
func SplitLabels(text, mark string) ([]string, error) {
	text, mark = strings.TrimSpace(text), cmp.Or(mark, target.Mark)
	for open, end := range map[string]string{"[": "]", "{": "}"} {
		inner, ok := strings.CutPrefix(text, open)
		if !ok {
			continue
		}
		if inner, ok = strings.CutSuffix(inner, end); !ok {
			return nil, fmt.Errorf("the list %.40q has no closing bracket", text)
		}
		if text, mark = inner, ","; !strings.Contains(inner, ",") {
			text = behindQuote.ReplaceAllString(inner, "$1,$2")
		}
		break
	}
	names := []string{}
	for part := range strings.SplitSeq(text, mark) {
		part = strings.TrimSpace(part)
		if n := len(part); mark == "," && n > 1 && part[0] == part[n-1] && (part[0] == '"' || part[0] == '\'') {
			part = part[1 : n-1]
		}
		if part == "" {
			continue
		}
		if slices.Contains(names, part) {
			return nil, fmt.Errorf("label %.40q is there twice; of 0 and 1 for each label make a column for each", part)
		}
		names = append(names, part)
	}
	return names, nil
}

// behindQuote matches blanks between two quoted names.
var behindQuote = regexp.MustCompile(`(['"])\s+(['"])`)

// labels returns the text of a cell of a list as [SplitLabels] reads it; false: the cell is no list.
func (c *Cell) labels() (text string, ok bool, err error) {
	switch c.Kind {
	case Names:
		return c.Text, true, nil
	case List:
		names := make([]string, len(c.List))
		for k, v := range c.List {
			if names[k], err = decimal(v); err != nil {
				return "", true, err
			}
		}
		return strings.Join(names, target.Mark) + target.Mark, true, nil
	}
	return "", false, nil
}

// checkLinks returns an error for candidates that are not a column and its value, or are of another task than links,
// and for a column of labels, which links do not have.
func (t Settings) checkLinks() error {
	links := !t.HasLabels()
	column, value, ok := strings.Cut(t.Candidates, "=")
	switch {
	case t.Candidates != "" && !links:
		return fmt.Errorf("candidates is %.100q, and the task is not links", t.Candidates)
	case t.Candidates != "" && (!ok || column == "" || value == ""):
		return fmt.Errorf("candidates is %.100q, want a column of nodes and its value, such as kind=item", t.Candidates)
	case links && t.Label != "":
		return fmt.Errorf("label is %.100q, and the task links has none: edges are what it learns from", t.Label)
	}
	return nil
}
