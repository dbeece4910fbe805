package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"rivulet/dataset/graphsaint"
	"rivulet/dataset/numpy"
	"rivulet/internal/durable"
)

// Save writes the data set in the GraphSAINT layout, so that [Open], SciPy and NumPy read it. The directory is
// created if it is missing; one that already holds a file of the layout is refused. Ids of nodes and names of
// classes that are not decimal indices go into two files beside the layout's own. Dense features are written
// as float64, which holds every float32. Dense features that are a bag of words are refused, because the
// layout cannot express them.
//
// Open ends of arrivals and what edges and labels are ([merged.File]) go into a third file, the types and directions of
// edges and numbers into one each. When Save returns, files and directories are durable: they outlive a crash of the
// machine.
func (d *Dataset) Save(dir string) error { return d.SaveOn(durable.Disk{}, dir) }

// SaveOn is [Dataset.Save] on a disk.
func (d *Dataset) SaveOn(disk durable.Disk, dir string) error {
	err := d.saveable()
	var files []newFile
	if err == nil {
		files, err = d.layout()
	}
	if err == nil {
		err = create(disk, dir, files, adjFile, sparseFile, denseFile, classesFile, rolesFile, idsFile, namesFile, mergedFile,
			schemaFile, columnsFile, timesFile, relationsFile, targetsFile)
	}
	if err != nil {
		return fmt.Errorf("saving data set to %s: %w", dir, err)
	}
	return nil
}

// saveable returns an error for data that the layout cannot express.
func (d *Dataset) saveable() error {
	if d.Schema == nil && d.BagOfWords != (d.X.Sparse != nil) {
		return fmt.Errorf("features that are a bag of words (%t) and sparse (%t): in the layout a bag of words is always "+
			"sparse, and other features are dense",
			d.BagOfWords, d.X.Sparse != nil)
	}
	if d.Columns != nil {
		return errors.New("features have names, of which a schema is to make positions first")
	}
	return nil
}

// create writes the files of a directory, which is created if it is missing, and makes them durable. It is an error if
// one of them or of the other names is there already.
func create(disk durable.Disk, dir string, files []newFile, others ...string) error {
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	for _, f := range files {
		others = append(others, f.name)
	}
	for _, name := range others {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, errors.Join(err, fs.ErrExist))
		}
	}
	for _, f := range files {
		if err := disk.WriteFile(dir, f.name, f.write); err != nil {
			return err
		}
	}
	return disk.SyncDir(dir)
}

// newFile is a file to write.
type newFile struct {
	name  string
	write func(io.Writer) error
}

// jsonFile is a file of one value as JSON.
func jsonFile(name string, value any) newFile {
	return newFile{name, func(w io.Writer) error { return json.NewEncoder(w).Encode(value) }}
}

// layout returns the files of the data set. The roles come last.
func (d *Dataset) layout() ([]newFile, error) {
	files := []newFile{{adjFile, func(w io.Writer) error { return numpy.WriteCSR(w, d.Adj) }}, {denseFile, d.writeDense}}
	if d.X.Sparse != nil {
		files[1] = newFile{sparseFile, func(w io.Writer) error { return numpy.WriteCSR(w, d.X.Sparse) }}
	}
	if d.Schema != nil {
		files = append(files, jsonFile(schemaFile, d.Schema))
		if d.Values != nil {
			files = append(files, jsonFile(columnsFile, graphsaint.ColumnsOf(d.Values)))
		}
	}
	files = append(files, newFile{classesFile, d.writeClassMap})
	for _, list := range []struct {
		file  string
		names []string
	}{{idsFile, d.IDs}, {namesFile, d.Classes}} {
		if slices.Equal(list.names, Decimals(len(list.names))) { // as [Open] gives them without a file
			continue
		}
		if err := graphsaint.CheckNames(list.names, len(list.names)); err != nil { // JSON would change other names
			return nil, fmt.Errorf("%s: %w", list.file, err)
		}
		files = append(files, newFile{list.file, func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetEscapeHTML(false)
			return encoder.Encode(list.names)
		}})
	}
	if f := d.beside(); !f.Empty() {
		if err := f.Check(d.IDs, d.Train); err != nil {
			return nil, fmt.Errorf("%s: %w", mergedFile, err)
		}
		files = append(files, jsonFile(mergedFile, f))
	}
	if d.By.Relational() {
		files = append(files, newFile{relationsFile, func(w io.Writer) error { return numpy.WriteCSR(w, d.Relations) }})
	}
	files = append(files, d.labelForm().files(d)...)
	if d.Times != nil {
		files = append(files, jsonFile(timesFile, d.Times))
	}
	return append(files, newFile{rolesFile, d.writeRoles}), nil
}

// writeDense writes dense features as float64.
func (d *Dataset) writeDense(w io.Writer) error {
	wide := make([]float64, len(d.X.Dense.Data))
	for k, v := range d.X.Dense.Data {
		wide[k] = float64(v)
	}
	return numpy.Write(w, wide, d.X.Rows(), d.X.Cols())
}

// writeClassMap writes the nodes in order, of labels a list of 0 and 1 each; a node without a class is left out.
func (d *Dataset) writeClassMap(w io.Writer) error {
	out, put := []byte{'{'}, d.labelForm().put
	for i, c := range d.Labels {
		if c < 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ", "...)
		}
		out = put(d, i, fmt.Appendf(out, "%q: ", strconv.Itoa(i)))
	}
	_, err := w.Write(append(out, "}\n"...))
	return err
}

// writeTargets writes the numbers of all nodes.
func (d *Dataset) writeTargets(w io.Writer) error {
	return numpy.Write(w, d.Targets.Data, d.Targets.Rows, d.Targets.Cols)
}

func (d *Dataset) writeRoles(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Train      []int32 `json:"tr"`
		Validation []int32 `json:"va"`
		Test       []int32 `json:"te"`
		Unlabelled []int32 `json:"un,omitempty"`
	}{append([]int32{}, d.Train...), append([]int32{}, d.Validation...), append([]int32{}, d.Test...), d.Unlabelled})
}
