package table

import (
	"fmt"
	"os"
	"slices"
)

// Extended returns the table with other names for its first columns, and with more columns behind its own, whose values
// follow from the text of a row's first cell: more returns a value for each of added, or an error.
func (s Source) Extended(names, added []string, more func(first string) ([]string, error)) Source {
	open := s.open
	s.open = func(f *os.File, name string, size int64, form TextForm, use func(File) error) error {
		return open(f, name, size, form, func(t File) error {
			own := slices.Clone(t.Columns())
			if len(own) < len(names) {
				return fmt.Errorf("columns %s, want at least %d", listed(own), len(names))
			}
			copy(own, names)
			return use(&extended{t, append(own, added...), len(own), more})
		})
	}
	return s
}

// extended is a file of [Source.Extended].
type extended struct {
	File
	names []string
	own   int // columns of the file
	more  func(first string) ([]string, error)
}

func (e *extended) Columns() []string { return e.names }

func (e *extended) Categorical(column int) bool { return column < e.own && e.File.Categorical(column) }

func (e *extended) Each(columns []int, use func(cells []Cell, at Place) error) error {
	if e.more == nil {
		return e.File.Each(columns, use)
	}
	inner := []int{0}
	for _, c := range columns {
		if c < e.own {
			inner = append(inner, c)
		}
	}
	cells := make([]Cell, len(columns))
	return e.File.Each(inner, func(read []Cell, at Place) error {
		values, err := e.more(read[0].Text)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		k := 1
		for i, c := range columns {
			if c >= e.own {
				cells[i] = Cell{Kind: Raw, Text: values[c-e.own]}
				continue
			}
			cells[i] = read[k]
			k++
		}
		return use(cells, at)
	})
}
