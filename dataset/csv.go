package dataset

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

var csvExts = []string{".csv", ".csv.gz"}

var csvFormat = Format{
	Name:  CSV,
	Looks: "a directory with nodes.csv and edges.csv, or directories nodes and edges of such files, .gz or not",
	Found: func(path string) bool {
		_, errNodes := TableFiles(path, "nodes", csvExts...)
		_, errEdges := TableFiles(path, "edges", csvExts...)
		return errNodes == nil && errEdges == nil
	},
	Read: func(path string, o OpenOptions) (*Dataset, error) {
		return (&csvReader{dir: path, options: o, limits: csvDefaults}).read()
	},
}

// csvLimits bound what a file can make the reader hold.
type csvLimits struct {
	record       int64 // bytes of one record
	inflated     int64 // bytes that any gzip file may hold
	inflateRatio int64 // and how many more for each of its own bytes
}

var csvDefaults = csvLimits{record: 64 << 20, inflated: 64 << 20, inflateRatio: 200}

type csvReader struct {
	dir     string
	options OpenOptions
	limits  csvLimits
	table   *Table
}

func (c *csvReader) read() (*Dataset, error) {
	nodes, err := TableFiles(c.dir, "nodes", csvExts...)
	if err != nil {
		return nil, err
	}
	edges, err := TableFiles(c.dir, "edges", csvExts...)
	if err != nil {
		return nil, err
	}
	var nodeColumns NodeColumns
	err = c.eachFile(nodes, func(names []string) (_ rowReader, err error) {
		nodeColumns, err = PlanNodes(names)
		if c.table == nil {
			c.table = NewTable(nodeColumns.Split >= 0)
		}
		return c.nodeReader(names, nodeColumns), err
	})
	if err != nil {
		return nil, err
	}
	if c.table.Nodes() == 0 {
		return nil, fmt.Errorf("%s: there are no nodes", nodes[len(nodes)-1])
	}
	var edgeColumns EdgeColumns
	err = c.eachFile(edges, func(names []string) (_ rowReader, err error) {
		edgeColumns, err = PlanEdges(names)
		return c.edgeReader(edgeColumns), err
	})
	if err != nil {
		return nil, err
	}
	name, err := nameOf(c.dir)
	if err != nil {
		return nil, err
	}
	d, err := c.table.Dataset(name, c.options)
	if err != nil {
		return nil, err
	}
	d.NoteIgnored("nodes", nodeColumns.Ignored)
	d.NoteIgnored("edges", edgeColumns.Ignored)
	return d, nil
}

// rowReader takes one record; its strings are good until the next.
type rowReader func(record []string, at Place) error

// eachFile reads files of one table, which have one header between them.
func (c *csvReader) eachFile(files []string, plan func(names []string) (rowReader, error)) error {
	var first []string
	for _, name := range files {
		err := readFile(c.dir, name, maxArrayBytes, func(f *os.File, size int64) error {
			text, err := c.open(f, name, size)
			if err != nil {
				return err
			}
			return c.eachRecord(text, name, func(header []string) (rowReader, error) {
				if first == nil {
					first = slices.Clone(header)
				} else if !slices.Equal(header, first) {
					return nil, fmt.Errorf("line 1: columns %s, want %s as in %s", listed(header), listed(first), files[0])
				}
				return plan(header)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// open returns the text of a file, inflated where it is gzip, without a byte order mark.
func (c *csvReader) open(f io.Reader, name string, size int64) (*recordReader, error) {
	r := &recordReader{src: bufio.NewReaderSize(f, 1<<16), most: c.limits.record, left: c.limits.record}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(r.src)
		if err != nil {
			return nil, fmt.Errorf("not a gzip file: %w", err)
		}
		limit := c.limits.inflated + c.limits.inflateRatio*size
		r.src = bufio.NewReaderSize(&inflated{z, limit, limit}, 1<<16)
	}
	if mark, err := r.src.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = r.src.Discard(3) // they are in the buffer
	}
	return r, nil
}

func (c *csvReader) eachRecord(text *recordReader, name string, plan func(header []string) (rowReader, error)) error {
	in := csv.NewReader(text)
	in.ReuseRecord = true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty, not even a line of column names is there")
	}
	if err != nil {
		return err
	}
	for i, column := range header {
		header[i] = strings.TrimSpace(column)
	}
	names := slices.Clone(header)
	row, err := plan(names)
	if err != nil {
		return err
	}
	for {
		text.startRecord()
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // names line and column
		}
		line, _ := in.FieldPos(0)
		if err := row(record, Place{name, "line", line}); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (c *csvReader) nodeReader(names []string, p NodeColumns) rowReader {
	var x []float32
	cell := func(record []string, column int) string {
		if column < 0 {
			return ""
		}
		return record[column]
	}
	return func(record []string, at Place) (err error) {
		x = x[:0]
		if p.List >= 0 {
			if x, err = AppendValues(x, record[p.List]); err != nil {
				return fmt.Errorf("column features: %w", err)
			}
		}
		for _, column := range p.Features {
			v, err := ParseValue(record[column])
			if err != nil {
				return fmt.Errorf("column %s: %w", names[column], err)
			}
			x = append(x, v)
		}
		return c.table.AddNode(NodeRow{record[p.ID], x, cell(record, p.Label), strings.TrimSpace(cell(record, p.Split))}, at)
	}
}

func (c *csvReader) edgeReader(p EdgeColumns) rowReader {
	return func(record []string, _ Place) error {
		if p.Weight >= 0 {
			w, err := strconv.ParseFloat(strings.TrimSpace(record[p.Weight]), 64)
			if err != nil {
				return fmt.Errorf("column weight: %.40q is not a number", record[p.Weight])
			}
			if err := CheckWeight(w); err != nil {
				return fmt.Errorf("column weight: %w", err)
			}
		}
		return c.table.AddEdge(record[p.Source], record[p.Target])
	}
}

// recordReader bounds the bytes of one record: a quote that never closes would make encoding/csv hold the whole file.
type recordReader struct {
	src        *bufio.Reader
	most, left int64
}

// startRecord gives the next record its share. What the csv reader has buffered ahead counts for the one before.
func (r *recordReader) startRecord() { r.left = r.most }

func (r *recordReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a record of more than %d bytes; is a quote not closed?", r.most)
	}
	n, err := r.src.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// inflated ends with an error where a gzip file holds more than it may.
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
