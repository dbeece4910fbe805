// Package columnar reads and writes tables whose columns are known when the program runs, by the library of a package
// that registers itself: dataset/parquet. A program that reads or writes such tables imports that package; any other is
// built without the library.
package columnar

import (
	"errors"
	"io"

	"rivulet/dataset/table"
)

// Type is the type of the values of a column.
type Type uint8

// The types of columns. A cell of Null, where the type is Text, is no value.
const (
	Integer Type = iota // int64
	Number              // float32
	Text                // UTF-8
	Bytes
	Numbers  // a list of float32
	Integers // a list of int32
)

// Column is a column of a table.
type Column struct {
	Name string
	Type Type
}

// Writer writes a table: each row has a cell for each column, of its type.
type Writer interface {
	Write(cells []table.Cell) error
	Close() error
}

// Driver is a form of such tables.
type Driver struct {
	// Open opens a file from any program that writes this form, for use alone.
	Open func(file io.ReaderAt, name string, size int64, use func(table.File) error) error
	// NewWriter returns a writer of a table with these columns.
	NewWriter func(w io.Writer, columns []Column) Writer
}

var driver *Driver

// Register sets the form of this program's tables. A package does it in its init.
func Register(d Driver) { driver = &d }

var errNone = errors.New("this program is built without Parquet, which the trainer has")

// Open opens a file for use alone.
func Open(file io.ReaderAt, name string, size int64, use func(table.File) error) error {
	if driver == nil {
		return errNone
	}
	return driver.Open(file, name, size, use)
}

// NewWriter returns a writer of a table with these columns.
func NewWriter(w io.Writer, columns []Column) (Writer, error) {
	if driver == nil {
		return nil, errNone
	}
	return driver.NewWriter(w, columns), nil
}
