// Package csv reads tables from files of comma-separated values ([Kind]), whatever their separator, encoding and
// compression, within bounds of memory. A file may lack a line of column names: [layout] finds that by its first lines.
package csv

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"rivulet/dataset/table"
)

// Kind is the kind of tables in files of comma-separated values.
var Kind = Defaults.Kind()

// Limits bounds the memory that a file can make the reader use.
type Limits struct {
	Record       int64 // bytes of one record
	Inflated     int64 // bytes that any compressed file may hold
	InflateRatio int64 // and how many more for each of its own bytes
}

// Defaults are the limits of [Kind].
var Defaults = Limits{Record: 64 << 20, Inflated: 64 << 20, InflateRatio: 200}

// Kind is the kind of tables in files of comma-separated values, read within these limits.
func (l Limits) Kind() table.Kind {
	return table.Kind{
		Exts: []string{".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst"},
		Text: true, Open: l.open,
	}
}

// open reads the header of a file and lets use read the rest.
func (l Limits) open(f *os.File, name string, size int64, form table.TextForm, use func(table.File) error) error {
	t, err := l.table(f, name, size, form)
	if err != nil {
		return err
	}
	defer t.text.close()
	return use(t)
}

// csvTable is an open file.
type csvTable struct {
	file  string
	text  *recordReader
	read  func() (record []string, line int, err error)
	names []string
	guess string
	doubt string
}

func (l Limits) table(f io.Reader, name string, size int64, form table.TextForm) (*csvTable, error) {
	text, err := l.text(f, name, size, form.Encoding)
	if err != nil {
		return nil, err
	}
	if start, _ := text.src.Peek(1 << 12); bytes.IndexByte(start, 0) >= 0 {
		return nil, errors.New("it is no text: " + table.Python(name))
	}
	said := form.HeaderOf(name)
	of, err := text.look(name, form.Separator, said)
	if err != nil {
		return nil, err
	}
	t := &csvTable{file: name, text: text, names: of.names, doubt: of.open}
	if of.between != "" {
		lines := &lineReader{src: bufio.NewReaderSize(text, 1<<16), form: &of}
		t.read = lines.Read
	} else {
		in := csv.NewReader(text)
		in.ReuseRecord, in.Comma = true, of.comma
		in.Comment = of.comment
		t.read = func() ([]string, int, error) {
			record, err := in.Read()
			if err != nil {
				return record, 0, err
			}
			line, _ := in.FieldPos(0)
			return record, line, nil
		}
	}
	if t.names != nil {
		if said == "" {
			t.guess = fmt.Sprintf("%s has no line of column names: its columns are read as %s, a guess by its first lines", name,
				strings.Join(table.Most(t.names), ", "))
		}
		return t, nil
	}
	header, _, err := t.read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty, without even a line of column names")
	}
	if err != nil {
		return nil, err
	}
	for _, column := range header {
		if !utf8.ValidString(column) {
			return nil, fmt.Errorf("line 1: column name %.40q is %w: name the file's encoding, such as latin1", column,
				table.ErrNotUTF8)
		}
		t.names = append(t.names, strings.TrimSpace(column))
	}
	nameEmpty(t.names)
	return t, nil
}

// nameEmpty names columns without a name by their number, from 0. The first stays without: it may be the row number
// that pandas writes.
func nameEmpty(names []string) {
	for k, name := range names {
		if name == "" && k > 0 {
			names[k] = fmt.Sprintf("column %d", k)
		}
	}
}

// encodings maps the names of encodings beside UTF-8.
var encodings = map[string]encoding.Encoding{"latin1": charmap.ISO8859_1, "windows-1252": charmap.Windows1252}

// text returns the text of a file in UTF-8, inflated if it is compressed, without a byte order mark.
func (l Limits) text(f io.Reader, name string, size int64, from string) (*recordReader, error) {
	r := &recordReader{src: bufio.NewReaderSize(f, 1<<16), most: l.Record, left: l.Record, close: func() {}}
	limit := l.Inflated + l.InflateRatio*size
	switch {
	case strings.HasSuffix(name, ".gz"):
		z, err := gzip.NewReader(r.src)
		if err != nil {
			return nil, fmt.Errorf("not a gzip file: %w", err)
		}
		r.src = bufio.NewReaderSize(&inflated{z, limit, limit}, 1<<16)
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewReader(r.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, fmt.Errorf("not a zstd file: %w", err)
		}
		r.src, r.close = bufio.NewReaderSize(&inflated{z, limit, limit}, 1<<16), z.Close
	}
	mark, _ := r.src.Peek(3) // an error comes again with the first line
	switch of, known := encodings[from]; {
	case bytes.HasPrefix(mark, []byte("\xff\xfe")) || bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return nil, errors.New("it is UTF-16: write it as UTF-8")
	case string(mark) == "\xef\xbb\xbf":
		_, _ = r.src.Discard(3) // they are in the buffer
	case known:
		r.src = bufio.NewReaderSize(of.NewDecoder().Reader(r.src), 1<<16)
	case from != "" && from != "utf-8":
		return nil, fmt.Errorf("encoding is %.40q, want utf-8, latin1 or windows-1252", from)
	}
	return r, nil
}

func (t *csvTable) Columns() []string { return t.names }

// Guess says which names the columns got of a file without a line of names.
func (t *csvTable) Guess() string { return t.guess }

// Categorical reports false: text has no types.
func (t *csvTable) Categorical(int) bool { return false }

// Doubt names the question that the first lines leave open: whether the first has names.
func (t *csvTable) Doubt() string { return t.doubt }

// Each calls use with the cells of each record, which are raw text.
func (t *csvTable) Each(columns []int, use func(cells []table.Cell, at table.Place) error) error {
	cells := make([]table.Cell, len(columns))
	for {
		t.text.startRecord()
		record, line, err := t.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, csv.ErrFieldCount) && len(record) > len(t.names) {
			return fmt.Errorf("%w: %d cells under %d names; %s", err, len(record), len(t.names), table.Python(t.file))
		}
		if err != nil {
			return err // names line and column
		}
		for k, column := range columns {
			cells[k] = table.Cell{Kind: table.Raw, Text: record[column]}
		}
		if err := use(cells, table.Place{File: t.file, Unit: "line", Row: line}); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// recordReader bounds the bytes of one record: a quote that never closes would make encoding/csv hold the whole
// file.
type recordReader struct {
	src        *bufio.Reader
	most, left int64
	close      func() // frees the decompressor
}

// startRecord resets the limit for the next record. Bytes that the csv reader has buffered ahead count for the
// record before.
func (r *recordReader) startRecord() { r.left = r.most }

func (r *recordReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a record of more than %d bytes; is a quote not closed?", r.most)
	}
	n, err := r.src.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// inflated ends with an error if a compressed file holds more than its limit.
type inflated struct {
	src         io.Reader
	limit, left int64
}

func (r *inflated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("the compressed file holds more than %d bytes, which is more than its size allows", r.limit)
	}
	n, err := r.src.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}
