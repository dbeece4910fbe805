package parquet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/parquet-go/parquet-go"

	"rivulet/dataset"
	"rivulet/dataset/columnar"
	"rivulet/dataset/table"
)

// Format reads a directory of Parquet tables; the package documentation lists their columns.
var Format = dataset.TablesFormat("parquet",
	"a directory with nodes.parquet and edges.parquet, or directories nodes and edges of such files",
	table.Kind{Exts: []string{".parquet"}, Named: []string{".pq", ".parq", ".parquet.gzip", ".parquet.gz"}, Open: read})

// A program that imports this package reads tables of Parquet, and package columnar writes its tables as Parquet.
func init() {
	dataset.Register(Format)
	columnar.Register(columnar.Driver{Open: openAlone,
		NewWriter: func(w io.Writer, columns []columnar.Column) columnar.Writer { return newColumnWriter(w, columns) }})
}

func read(f *os.File, name string, size int64, form table.TextForm, use func(table.File) error) error {
	if form.Separator != "" || form.Encoding != "" || form.HeaderOf(name) != "" {
		return errors.New("separator, encoding and header are for files of text, which Parquet is not")
	}
	return guarded(func() error {
		t, err := openTable(f, name, size)
		if err != nil {
			return err
		}
		return use(t)
	})
}

// guarded turns panics into errors: the library slices and indexes by numbers in the file. Faults of its assembly
// become panics too.
func guarded(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed content: %v", p)
		}
	}()
	return read()
}

// options keep the library from reading parts that are not needed, and from reading ahead in its own goroutines.
var options = []parquet.FileOption{
	parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.FileReadMode(parquet.ReadModeSync),
}
