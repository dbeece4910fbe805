package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rivulet/schema"
)

// errNoNumber says that a value is no number, so that the features of a table cannot have positions only.
var errNoNumber = errors.New("features by position are numbers")

// readPositional reads tables whose features are all numbers, none of them missing. Ids, labels and splits are
// taken as they are written.
func readPositional(name string, nodes, edges tableSource, o OpenOptions) (*Dataset, error) {
	t := NewTable(o.Tables)
	var columns nodeColumns
	var used []string
	err := nodes.each(func(f TableFile) (err error) {
		if columns, err = o.Tables.planNodes(f.Columns(), true); err != nil {
			return err
		}
		t.splits = columns.split >= 0
		used = namesOf(f, columns.features)
		return t.positionalNodes(f, columns)
	})
	if err != nil {
		return nil, err
	}
	if t.Nodes() == 0 {
		return nil, fmt.Errorf("%s: there are no nodes", nodes.files[len(nodes.files)-1])
	}
	ignored, err := t.readEdges(edges, nil)
	if err != nil {
		return nil, err
	}
	d, err := t.Dataset(name, o)
	if err != nil {
		return nil, err
	}
	if len(used) > 0 {
		d.note("Features by position: %s.", strings.Join(most(used), ", "))
	}
	d.noteIgnored("nodes", columns.ignored)
	d.noteIgnored("edges", ignored)
	return d, nil
}

func namesOf(f TableFile, columns []int) []string {
	var names []string
	for _, i := range columns {
		names = append(names, f.Columns()[i])
	}
	return names
}

func (t *Table) positionalNodes(f TableFile, plan nodeColumns) error {
	names := f.Columns()
	fixed := []int{plan.id, plan.label}
	if plan.split >= 0 {
		fixed = append(fixed, plan.split)
	}
	first := len(fixed)
	values := plan.features
	if plan.list >= 0 {
		values = []int{plan.list}
	}
	var x []float32
	return f.Each(slices.Concat(fixed, values), func(cells []Cell, at Place) (err error) {
		var row [3]string
		for k := range fixed {
			if row[k], err = asWritten(&cells[k], k > 0); err != nil {
				return fmt.Errorf("column %s: %w", names[fixed[k]], err)
			}
		}
		x = x[:0]
		if plan.list >= 0 {
			if x, err = cells[first].appendList(x); err != nil {
				return fmt.Errorf("column features: %w", err)
			}
		}
		for k, c := range plan.features {
			v, err := cells[first+k].number(t.o.Decimal == ",")
			if err != nil {
				return fmt.Errorf("column %s: %w; %w", names[c], err, errNoNumber)
			}
			x = append(x, float32(v))
		}
		return t.AddNode(NodeRow{row[0], x, row[1], strings.TrimSpace(row[2])}, at)
	})
}

// asWritten returns a name as it is written; optional says that it may be missing.
func asWritten(c *Cell, optional bool) (string, error) {
	if c.Kind == Raw {
		return c.text()
	}
	if optional && c.missing(schema.Text) {
		return "", nil
	}
	return c.text()
}
