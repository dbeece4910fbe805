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
			v := view{File: t, names: append(own, added...), values: make([]Cell, len(own)+len(added))}
			for k := range v.names {
				if v.from = append(v.from, k); k >= len(own) {
					v.from[k] = -1
				}
			}
			if more == nil {
				return use(&v)
			}
			return use(&extended{v, len(own), more})
		})
	}
	return s
}

// extended is a file with columns that follow from the first.
type extended struct {
	view
	own  int // columns of the file
	more func(first string) ([]string, error)
}

func (e *extended) Categorical(column int) bool { return column < e.own && e.view.Categorical(column) }

func (e *extended) Each(columns []int, use func(cells []Cell, at Place) error) error {
	return e.view.Each(append([]int{0}, columns...), func(cells []Cell, at Place) error {
		values, err := e.more(cells[0].Text)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		for i, c := range columns {
			if c >= e.own {
				cells[1+i] = Cell{Kind: Raw, Text: values[c-e.own]}
			}
		}
		return use(cells[1:], at)
	})
}
