package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"rivulet/dataset"
)

// table is one open file.
type table struct {
	name  string
	file  *parquet.File
	check *pageCheck
	names []string // of columns
	row   int64    // the last one that was begun; the first is 1
}

func openTable(r io.ReaderAt, name string, size int64, l limits) (*table, error) {
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, options...)
	if err != nil {
		return nil, err
	}
	check, err := newPageCheck(r, size, l)
	if err != nil {
		return nil, err
	}
	t := &table{name: name, file: f, check: check}
	for _, c := range f.Root().Columns() {
		t.names = append(t.names, c.Name())
	}
	return t, nil
}

func (t *table) close() { t.check.close() }

// Columns returns the names of the columns of the outermost level.
func (t *table) Columns() []string { return t.names }

// leaf returns the column of values of an outermost column, or of the elements of its list.
func (t *table) leaf(name string, list bool) (*parquet.Column, error) {
	c := t.file.Root().Column(name)
	for !c.Leaf() {
		inner := c.Columns()
		if len(inner) != 1 {
			return nil, fmt.Errorf("column %s: it has %d columns of its own, want a value or a list of values",
				name, len(inner))
		}
		c = inner[0]
	}
	switch depth := c.MaxRepetitionLevel(); {
	case depth > 0 && !list:
		return nil, fmt.Errorf("column %s: it holds lists, want one value a row", name)
	case list && depth != 1:
		return nil, fmt.Errorf("column %s: want a list of numbers in each row", name)
	}
	return c, nil
}

// open returns a cursor on a column of a row group; an index of -1 gives none.
func (t *table) open(group, index int, list bool, cursors *[]*cursor) (*cursor, error) {
	if index < 0 {
		return nil, nil
	}
	name := t.names[index]
	column, err := t.leaf(name, list)
	if err != nil {
		return nil, err
	}
	rows := t.file.RowGroups()[group]
	meta := &t.file.Metadata().RowGroups[group].Columns[column.Index()].MetaData
	if err := t.check.chunk(column, meta, rows.NumRows()); err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	c := &cursor{name: name, most: column.MaxDefinitionLevel(), decimal: isDecimal(column),
		values: parquet.NewColumnChunkValueReader(rows.ColumnChunks()[column.Index()])}
	*cursors = append(*cursors, c)
	return c, nil
}

// opener opens a column by its index among the names, -1 for none.
type opener func(index int, list bool) (*cursor, error)

// planner opens the columns of a row group and returns a function that reads one row of them.
type planner func(open opener) (row func() error, err error)

func (t *table) eachGroup(plan planner) error {
	for group := range t.file.RowGroups() {
		if err := t.eachRow(group, plan); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) eachRow(group int, plan planner) error {
	t.check.group()
	var cursors []*cursor
	defer func() {
		for _, c := range cursors {
			c.close()
		}
	}()
	row, err := plan(func(index int, list bool) (*cursor, error) { return t.open(group, index, list, &cursors) })
	if err != nil {
		return err
	}
	for range t.file.RowGroups()[group].NumRows() {
		t.row++
		if err := row(); err != nil {
			return fmt.Errorf("row %d: %w", t.row, err)
		}
	}
	for _, c := range cursors {
		if _, err := c.peek(); err == nil {
			return fmt.Errorf("row %d: column %s: more values than rows", t.row, c.name)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// Nodes adds every row.
func (t *table) Nodes(p dataset.NodeColumns, to *dataset.Table) error {
	return t.eachGroup(func(open opener) (func() error, error) {
		id, errID := open(p.ID, false)
		label, errLabel := open(p.Label, false)
		split, errSplit := open(p.Split, false)
		list, errList := open(p.List, true)
		features := make([]*cursor, len(p.Features))
		err := errors.Join(errID, errLabel, errSplit, errList)
		for k, index := range p.Features {
			if err == nil {
				features[k], err = open(index, false)
			}
		}
		if err != nil {
			return nil, err
		}
		var x []float32
		return func() (err error) {
			n := dataset.NodeRow{}
			if n.ID, err = id.text(); err != nil {
				return err
			}
			if n.Label, err = label.label(); err != nil {
				return err
			}
			if split != nil {
				if n.Split, err = split.label(); err != nil {
					return err
				}
			}
			if x, err = appendFeatures(x[:0], list, features); err != nil {
				return err
			}
			n.Features = x
			return to.AddNode(n, dataset.Place{File: t.name, Unit: "row", Row: int(t.row)})
		}, nil
	})
}

func appendFeatures(x []float32, list *cursor, features []*cursor) (_ []float32, err error) {
	if list != nil {
		return list.numbers(x)
	}
	for _, f := range features {
		v, err := f.feature()
		if err != nil {
			return x, err
		}
		x = append(x, v)
	}
	return x, nil
}

// Edges adds every row.
func (t *table) Edges(p dataset.EdgeColumns, to *dataset.Table) error {
	return t.eachGroup(func(open opener) (func() error, error) {
		source, errSource := open(p.Source, false)
		target, errTarget := open(p.Target, false)
		weight, errWeight := open(p.Weight, false)
		if err := errors.Join(errSource, errTarget, errWeight); err != nil {
			return nil, err
		}
		return func() error {
			i, err := source.text()
			if err != nil {
				return err
			}
			j, err := target.text()
			if err != nil {
				return err
			}
			if weight != nil {
				if err := weight.one(); err != nil {
					return err
				}
			}
			return to.AddEdge(i, j)
		}, nil
	})
}
