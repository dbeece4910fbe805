package partition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"rivulet/dataset/table"
	"rivulet/trainer/stage"
)

// SideForm is the side with the meaning of the cells of a table in place ([FormOf]). Where it is missing, rows have the
// form of [AppendNode] and [AppendEdge].
const SideForm = "form"

// form is the side [SideForm] as JSON.
type form struct {
	Tables  table.Settings `json:"tables"` // the columns' meaning
	Columns []string       `json:"columns"`
	Files   []formFile     `json:"files"`
}

// formFile is a file of the table.
type formFile struct {
	Mark   int64  `json:"mark"`
	Name   string `json:"name"`
	Before int64  `json:"before"` // rows of the files before it
}

// FormOf returns everything that stages nodes and edges must know of a table in place, with all of its columns: the
// columns' meaning, and its files, so that a row has a number over all of them and a file that has changed is noticed.
func FormOf(t *stage.InPlace, o table.Settings) []byte {
	o.Nodes, o.Edges = "", "" // the marks of files are of their paths
	f := form{Tables: o, Columns: t.Names(), Files: []formFile{}}
	before := int64(0)
	for _, file := range t.Files {
		f.Files = append(f.Files, formFile{file.Mark, file.Name, before})
		before += file.Rows
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // cannot be, of a type of ours
	}
	return text
}

// formSide are the sides of the stage that reads a source.
func formSide(from stage.Source) stage.Sides {
	if from.InPlace == nil {
		return nil
	}
	return stage.Sides{SideForm: from.Form}
}

// cellReader reads rows of a table in place.
type cellReader struct {
	files   map[int64]formFile
	columns []string // of the cells
	fields  [][]byte
	cells   []table.Cell
	file    formFile // of the row that was read last
	index   int64    // of the row in the file, from 0
	out     []byte   // a row in the form of AppendNode or AppendEdge
}

// readForm returns the side; nil if there is none.
func readForm(sides stage.Sides) (*form, error) {
	side, ok := sides[SideForm]
	if !ok {
		return nil, nil //nolint:nilnil // most tables are not in place
	}
	f := &form{}
	if err := json.Unmarshal(side, f); err != nil {
		return nil, fmt.Errorf("side %s: %w", SideForm, err)
	}
	return f, nil
}

// reader returns a reader of rows of cells of these columns.
func (f *form) reader(columns []int) *cellReader {
	r := &cellReader{files: map[int64]formFile{}}
	for _, c := range columns {
		r.columns = append(r.columns, f.Columns[c])
	}
	for _, file := range f.Files {
		r.files[file.Mark] = file
	}
	return r
}

// errChanged says that a row is of no file that the table had when the run looked at it.
var errChanged = errors.New("a file of the table was changed while the run read it: give the same command again")

// read takes the payload of a row.
func (r *cellReader) read(payload []byte) (err error) {
	r.fields = r.fields[:0]
	for rest, more := payload, true; more; {
		var field []byte
		field, rest, more = bytes.Cut(rest, []byte{'\t'})
		r.fields = append(r.fields, field)
	}
	if len(r.fields) != len(r.columns)+2 {
		return fmt.Errorf("a row of %d fields, want %d", len(r.fields), len(r.columns)+2)
	}
	mark, err1 := strconv.ParseInt(string(r.fields[0]), 10, 64)
	index, err2 := strconv.ParseInt(string(r.fields[1]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var known bool
	if r.file, known = r.files[mark]; !known {
		return errChanged
	}
	r.index = index
	r.cells = r.cells[:0]
	for k, field := range r.fields[2:] {
		c, err := cellOf(field)
		if err != nil {
			return r.at(fmt.Errorf("column %s: %w", r.columns[k], err))
		}
		r.cells = append(r.cells, c)
	}
	return nil
}

// row is the number of the row that was read last, over all files, from 1.
func (r *cellReader) row() int64 { return r.file.Before + r.index + 1 }

// at adds the place of the row that was read last to an error.
func (r *cellReader) at(err error) error {
	return fmt.Errorf("%s: row %d: %w", r.file.Name, r.index+1, err)
}

// nodeCells makes payloads of AppendNode of rows in place.
type nodeCells struct {
	*cellReader
	node *table.NodeReader
	last table.Node
}

func newNodeCells(sides stage.Sides) (*nodeCells, error) {
	f, err := readForm(sides)
	if f == nil || err != nil {
		return nil, err
	}
	rows, err := table.NewNodeReader(f.Tables, f.Columns)
	if err != nil {
		return nil, err
	}
	return &nodeCells{cellReader: f.reader(rows.Columns()), node: rows}, nil
}

// rows returns rows in the form of AppendNode, valid until the next call.
func (c *nodeCells) rows(payload []byte) ([]byte, error) {
	if c == nil {
		return payload, nil
	}
	if err := c.read(payload); err != nil {
		return nil, err
	}
	if err := c.node.Read(c.cells, &c.last); err != nil {
		return nil, c.at(err)
	}
	n := &c.last
	c.out = AppendNode(c.out[:0], Node{Row: c.row(), ID: n.ID, Label: n.Label, Role: RoleOf(n.Split), Dense: n.Features})
	return c.out, nil
}

// edgeCells makes payloads of AppendEdge of rows in place.
type edgeCells struct {
	*cellReader
	edge *table.EdgeReader
}

func newEdgeCells(sides stage.Sides) (*edgeCells, error) {
	f, err := readForm(sides)
	if f == nil || err != nil {
		return nil, err
	}
	rows, err := table.NewEdgeReader(f.Tables, f.Columns)
	if err != nil {
		return nil, err
	}
	return &edgeCells{f.reader(rows.Columns()), rows}, nil
}

// rows returns rows in the form of AppendEdge, valid until the next call.
func (c *edgeCells) rows(payload []byte) ([]byte, error) {
	if c == nil {
		return payload, nil
	}
	if err := c.read(payload); err != nil {
		return nil, err
	}
	source, target, _, err := c.edge.Read(c.cells)
	if err != nil {
		return nil, c.at(err)
	}
	c.out = AppendEdge(c.out[:0], Edge{Row: c.row(), Source: source, Target: target})
	return c.out, nil
}
