package dataset

import (
	"encoding/json"
	"fmt"
	"os"

	"rivulet/dataset/file"
	"rivulet/dataset/graphsaint"
	"rivulet/dataset/numpy"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/schema"
)

// beside returns the content of merged.json.
func (d *Dataset) beside() *graphsaint.Merged {
	f := &graphsaint.Merged{Ends: d.Merged, Weights: d.Adj.Val != nil, Types: d.By.Types, Directed: d.By.Directed,
		Arriving: d.By.Arriving, Task: d.Task, NodeTypes: d.NodeTypes}
	for i, is := range d.Candidates {
		if is {
			f.Candidates = append(f.Candidates, int32(i))
		}
	}
	return f
}

// inFile names the file of an error.
func inFile(name string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// loadRelations reads the types and directions of edges, where merged.json says that they have some.
func (d *Dataset) loadRelations(dir string, by graph.Slots, weighted bool) error {
	if !by.Relational() {
		return nil
	}
	if err := inFile(mergedFile, by.Validate()); err != nil {
		return err
	}
	return file.Read(dir, relationsFile, file.MaxBytes, func(f *os.File, size int64) error {
		z, err := numpy.OpenArchive(f, size, file.MaxBytes)
		if err != nil {
			return err
		}
		relations, err := numpy.ReadSparse(z)
		if err != nil {
			return err
		}
		n := d.Nodes()
		if relations.Rows != n || relations.Cols != by.Len()*n {
			return fmt.Errorf("array shape: %d×%d, want %d×%d for %d relations of %d nodes", relations.Rows, relations.Cols, n,
				by.Len()*n, by.Len(), n)
		}
		if !weighted {
			relations.Val = nil
		}
		out := make([]*graph.CSR, max(1, len(by.Types)))
		for k := range out {
			out[k] = relations.Slot(k*by.Len()/len(out), n)
		}
		d.Relate(by, out...)
		d.noteRelations(out)
		return nil
	})
}

// loadNumbers reads the numbers and names of a task of numbers.
func (d *Dataset) loadNumbers(dir string, task target.Task) error {
	err := file.Read(dir, targetsFile, file.MaxBytes, func(f *os.File, size int64) error {
		a, err := numpy.OpenArray(f, size)
		if err != nil {
			return err
		}
		if d.Targets, err = numpy.ReadDense(a); err == nil && d.Targets.Rows != d.Nodes() {
			err = fmt.Errorf("numbers of %d nodes for a graph of %d", d.Targets.Rows, d.Nodes())
		}
		return err
	})
	if err != nil {
		return err
	}
	if d.Classes, err = loadNames(dir, namesFile, d.Targets.Cols); err != nil {
		return err
	}
	d.Task = task
	return d.checkNumbers(nil)
}

// loadCandidates reads the candidates of a task of links.
func (d *Dataset) loadCandidates(said *graphsaint.Merged) error {
	for _, i := range said.Candidates {
		if d.Candidates == nil {
			d.Candidates = make([]bool, d.Nodes())
		}
		if i < 0 || int(i) >= d.Nodes() {
			return fmt.Errorf("%s: candidate %d of %d nodes", mergedFile, i, d.Nodes())
		}
		d.Candidates[i] = true
	}
	d.Task, d.Classes = said.Task, nil
	return d.checkLinks()
}

// loadFitted reads the schema and the named columns; data without a schema have features by position.
func (d *Dataset) loadFitted(dir string) error {
	var text json.RawMessage
	err := readJSON(dir, schemaFile, &text, func() (err error) {
		d.BagOfWords = false
		if d.Schema, err = schema.Parse(text); err == nil && d.Schema.Width() != d.X.Cols() {
			err = fmt.Errorf("it has %d positions, and the features %d", d.Schema.Width(), d.X.Cols())
		}
		return err
	})
	if err != nil || d.Schema == nil {
		return err
	}
	var in []graphsaint.Column
	return readJSON(dir, columnsFile, &in, func() error {
		for k := range in {
			c, err := in[k].Of(d.Nodes())
			if err != nil {
				return fmt.Errorf("column %q: %w", in[k].Name, err)
			}
			d.Values = append(d.Values, c)
		}
		return nil
	})
}
