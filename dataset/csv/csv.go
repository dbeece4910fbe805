// Package csv reads tables from files of comma-separated values ([Kind]), whatever their separator, encoding and
// compression, within bounds of memory. Files without a line of column names are edge lists, as SNAP and NetworkX write
// them.
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
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"rivulet/dataset/literal"
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
		Exts:  []string{".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst"},
		Named: []string{".txt", ".txt.gz", ".txt.zst", ".edges", ".edgelist"}, Open: l.open,
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
	in    *csv.Reader
	names []string
	guess string
}

func (l Limits) table(f io.Reader, name string, size int64, form table.TextForm) (*csvTable, error) {
	text, err := l.text(f, name, size, form.Encoding)
	if err != nil {
		return nil, err
	}
	t := &csvTable{file: name, text: text, in: csv.NewReader(text)}
	t.in.ReuseRecord = true
	head, comment := text.head()
	if t.in.Comma, err = separator(head, form.Separator); err != nil {
		return nil, err
	}
	if comment != "" {
		t.in.Comment = '#'
	}
	if t.names = edgeList(head, comment, t.in.Comma); t.names != nil {
		t.guess = fmt.Sprintf("%s has no line of column names: its columns are read as %s, a guess by its first lines", name,
			strings.Join(t.names, ", "))
		return t, nil
	}
	header, err := t.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty, without even a line of column names")
	}
	if err != nil {
		return nil, err
	}
	for _, column := range header {
		if !utf8.ValidString(column) {
			return nil, fmt.Errorf("line 1: column name %.40q is not UTF-8: name the file's encoding, such as latin1", column)
		}
		t.names = append(t.names, strings.TrimSpace(column))
	}
	return t, nil
}

// head returns the first line that is no comment, and the last comment before it, without consuming them. Comments are
// lines that begin with #, as in the edge lists of SNAP and NetworkX.
func (r *recordReader) head() (line, comment string) {
	text, _ := r.src.Peek(1 << 16) // the shorter text of a file that ends, too
	for {
		own, rest, more := bytes.Cut(text, []byte("\n"))
		if !more || !bytes.HasPrefix(own, []byte("#")) {
			return strings.TrimSuffix(string(own), "\r"), comment
		}
		comment, text = strings.TrimSpace(strings.TrimLeft(string(own), "#")), rest
		if comment == "" {
			comment = "#"
		}
	}
}

// edgeList returns the names of the columns of a file without a line of names, from its last comment or, if its first
// line is two integers and perhaps a weight, the names of an edge list. It returns nil for other files.
func edgeList(line, comment string, comma rune) []string {
	cells := strings.Split(line, string(comma))
	said := strings.FieldsFunc(comment, func(r rune) bool { return r == comma || r == '\t' || r == ' ' })
	if len(said) == len(cells) && !slices.ContainsFunc(said, isInteger) {
		return said
	}
	const most = 4 // ends, weight and time
	rising := comma == ','
	for k, cell := range cells {
		_, err := literal.Number(strings.TrimSpace(cell), false)
		if len(cells) < 2 || len(cells) > most || k < 2 && !isInteger(cell) ||
			err != nil && cell != "{}" { // {} is NetworkX's
			return nil
		}
		rising = rising && cell == strconv.Itoa(k)
	}
	if rising { // pandas names columns 0, 1, … that have no names
		return nil
	}
	names := []string{"source", "target", "weight", "column 4"}[:len(cells)]
	if slices.Contains(cells, "{}") {
		names[2] = "data"
	}
	return names
}

func isInteger(text string) bool {
	_, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return err == nil
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

// Each calls use with the cells of each record, which are raw text.
func (t *csvTable) Each(columns []int, use func(cells []table.Cell, at table.Place) error) error {
	cells := make([]table.Cell, len(columns))
	for {
		t.text.startRecord()
		record, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // names line and column
		}
		for k, column := range columns {
			cells[k] = table.Cell{Kind: table.Raw, Text: record[column]}
		}
		line, _ := t.in.FieldPos(0)
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

// separator returns the separator of cells: the given one, or the most frequent mark of the first line, or spaces.
func separator(line, said string) (rune, error) {
	switch {
	case said == "":
	case said == "tab" || said == `\t`:
		return '\t', nil
	case len(said) == 1 && !strings.ContainsAny(said, "\"\r\n"):
		return rune(said[0]), nil
	default:
		return 0, fmt.Errorf("separator is %.40q, want one character such as ; or tab", said)
	}
	found, count := ',', 0
	for _, mark := range ",;\t|" {
		if n := strings.Count(line, string(mark)); n > count {
			found, count = mark, n
		}
	}
	if count == 0 && strings.Contains(line, " ") {
		return ' ', nil
	}
	return found, nil
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
