package dataset

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

var csvExts = []string{".csv", ".csv.gz"}

var csvFormat = TablesFormat(CSV,
	"a directory with nodes.csv and edges.csv, or directories nodes and edges of such files, .gz or not",
	csvDefaults.open, csvExts...)

// csvLimits bounds the memory that a file can make the reader use.
type csvLimits struct {
	record       int64 // bytes of one record
	inflated     int64 // bytes that any gzip file may hold
	inflateRatio int64 // and how many more for each of its own bytes
}

var csvDefaults = csvLimits{record: 64 << 20, inflated: 64 << 20, inflateRatio: 200}

// open reads the header of a file and lets use read the rest.
func (l csvLimits) open(f *os.File, name string, size int64, use func(TableFile) error) error {
	t, err := l.table(f, name, size)
	if err != nil {
		return err
	}
	return use(t)
}

// csvTable is an open file.
type csvTable struct {
	file  string
	text  *recordReader
	in    *csv.Reader
	names []string
}

func (l csvLimits) table(f io.Reader, name string, size int64) (*csvTable, error) {
	text, err := l.text(f, name, size)
	if err != nil {
		return nil, err
	}
	t := &csvTable{file: name, text: text, in: csv.NewReader(text)}
	t.in.ReuseRecord = true
	header, err := t.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty, without even a line of column names")
	}
	if err != nil {
		return nil, err
	}
	for _, column := range header {
		t.names = append(t.names, strings.TrimSpace(column))
	}
	return t, nil
}

// text returns the text of a file, inflated if it is gzip, without a byte order mark.
func (l csvLimits) text(f io.Reader, name string, size int64) (*recordReader, error) {
	r := &recordReader{src: bufio.NewReaderSize(f, 1<<16), most: l.record, left: l.record}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(r.src)
		if err != nil {
			return nil, fmt.Errorf("not a gzip file: %w", err)
		}
		limit := l.inflated + l.inflateRatio*size
		r.src = bufio.NewReaderSize(&inflated{z, limit, limit}, 1<<16)
	}
	if mark, err := r.src.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = r.src.Discard(3) // they are in the buffer
	}
	return r, nil
}

func (t *csvTable) Columns() []string { return t.names }

// eachRecord calls use with each record, whose strings are valid until the next.
func (t *csvTable) eachRecord(use func(record []string, line int) error) error {
	for {
		t.text.startRecord()
		record, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // names line and column
		}
		line, _ := t.in.FieldPos(0)
		if err := use(record, line); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (t *csvTable) Nodes(p NodeColumns, to *Table) error {
	cell := func(record []string, column int) string {
		if column < 0 {
			return ""
		}
		return record[column]
	}
	var x []float32
	return t.eachRecord(func(record []string, line int) (err error) {
		x = x[:0]
		if p.List >= 0 {
			if x, err = AppendValues(x, record[p.List]); err != nil {
				return fmt.Errorf("column features: %w", err)
			}
		}
		for _, column := range p.Features {
			v, err := ParseValue(record[column])
			if err != nil {
				return fmt.Errorf("column %s: %w", t.names[column], err)
			}
			x = append(x, v)
		}
		n := NodeRow{record[p.ID], x, cell(record, p.Label), strings.TrimSpace(cell(record, p.Split))}
		return to.AddNode(n, Place{t.file, "line", line})
	})
}

func (t *csvTable) Edges(p EdgeColumns, to *Table) error {
	return t.eachRecord(func(record []string, _ int) error {
		if p.Weight >= 0 {
			w, err := strconv.ParseFloat(strings.TrimSpace(record[p.Weight]), 64)
			if err != nil {
				return fmt.Errorf("column weight: %.40q is not a number", record[p.Weight])
			}
			if err := CheckWeight(w); err != nil {
				return fmt.Errorf("column weight: %w", err)
			}
		}
		return to.AddEdge(record[p.Source], record[p.Target])
	})
}

// recordReader bounds the bytes of one record: a quote that never closes would make encoding/csv hold the whole
// file.
type recordReader struct {
	src        *bufio.Reader
	most, left int64
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

// inflated ends with an error if a gzip file holds more than its limit.
type inflated struct {
	src         io.Reader
	limit, left int64
}

func (r *inflated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("the gzip file holds more than %d bytes, which is more than its size allows", r.limit)
	}
	n, err := r.src.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}
