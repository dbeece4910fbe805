package stage

import (
	"context"
	"errors"
)

// InPlace is a table of Parquet that an engine's machines read where it lies.
type InPlace struct {
	Path    string // a file or directory, as the engine's machines see it
	Columns []Column
	Files   []File // files with rows, in the order of their paths
}

// Column is a column of a table in place.
type Column struct {
	Name string
	Type string // in Spark's SQL: string, bigint, array<double>
}

// File is a file of a table in place.
type File struct {
	Mark int64 // a hash of the file's path, size and time of modification
	Name string
	Rows int64
}

// Rows is the number of rows of the table.
func (t *InPlace) Rows() int64 {
	n := int64(0)
	for _, f := range t.Files {
		n += f.Rows
	}
	return n
}

// Names are the columns' names.
func (t *InPlace) Names() []string {
	names := make([]string, len(t.Columns))
	for k, c := range t.Columns {
		names[k] = c.Name
	}
	return names
}

// Only returns the table with some of its columns, by their indexes.
func (t *InPlace) Only(columns []int) *InPlace {
	out := &InPlace{Path: t.Path, Files: t.Files}
	for _, c := range columns {
		out.Columns = append(out.Columns, t.Columns[c])
	}
	return out
}

// Looker is an engine whose machines read tables in place. Its Scan makes a payload of each row of [Source.InPlace]:
// the file's mark, the number of the row in the file from 0, and the cells, divided by tabs. A cell is empty if it is
// null; otherwise a Cell letter gives the type of the text behind it.
type Looker interface {
	Engine
	// Look returns the columns and files of tables of Parquet. An error names the path.
	Look(ctx context.Context, paths ...string) ([]*InPlace, error)
	// Length returns the length of a list of a column, by its index; 0 if all are null. It looks at one row.
	Length(ctx context.Context, t *InPlace, column int) (int, error)
}

// Letters of cells.
const (
	CellText     = 't' // base64 of bytes
	CellInteger  = 'i'
	CellFloat    = 'f' // of 32 bits
	CellDouble   = 'd' // of 64 bits
	CellBool     = 'b' // 0 or 1
	CellDecimal  = 'm' // digits of the fraction, a colon, the number without its point
	CellIntegers = 'I' // a list, divided by commas, as the two below
	CellFloats   = 'F'
	CellDoubles  = 'D'
	CellNull     = "!" // an element of a list that is null
)

// ErrNotInPlace says that an engine was given a table in place which only others read.
var ErrNotInPlace = errors.New("this engine does not read tables in place")
