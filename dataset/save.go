package dataset

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"rivulet/dataset/numpy"
	"rivulet/durable"
	"rivulet/graph"
)

// Save writes the data set in the GraphSAINT layout, so that [Open], SciPy and NumPy read it. The directory is
// created if it is missing; one that already holds a file of the layout is refused. Ids of nodes and names of
// classes that are not decimal indices go into two files beside the layout's own. Dense features are written
// as float64, which holds every float32. Dense features that are a bag of words are refused, because the
// layout cannot express them.
//
// Open ends of arrivals ([Merged]) go into a third file. When Save returns, files and directories are durable: they
// outlive a crash of the machine.
func (d *Dataset) Save(dir string) error { return d.SaveOn(durable.Disk{}, dir) }

// SaveOn is [Dataset.Save] on a disk.
func (d *Dataset) SaveOn(disk durable.Disk, dir string) error {
	if err := d.save(saving{disk, dir}); err != nil {
		return fmt.Errorf("saving data set to %s: %w", dir, err)
	}
	return nil
}

// saving is a directory that a data set is written to.
type saving struct {
	disk durable.Disk
	dir  string
}

// file writes one file.
func (s saving) file(name string, encode func(io.Writer) error) error {
	return s.disk.WriteFile(s.dir, name, encode)
}

func (d *Dataset) save(s saving) error {
	if d.Schema == nil && d.BagOfWords != (d.X.Sparse != nil) {
		return fmt.Errorf("features that are a bag of words (%t) and sparse (%t): in the layout a bag of words is always sparse, and other features are dense",
			d.BagOfWords, d.X.Sparse != nil)
	}
	if err := d.unweighted(); err != nil {
		return err
	}
	if err := s.disk.MkdirAll(s.dir); err != nil {
		return err
	}
	for _, name := range []string{adjFile, sparseFile, denseFile, classesFile, rolesFile, idsFile, namesFile,
		mergedFile, schemaFile, columnsFile, timesFile} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", name, errors.Join(err, fs.ErrExist))
		}
	}
	if err := s.file(adjFile, func(w io.Writer) error { return writeCSR(w, d.Adj) }); err != nil {
		return err
	}
	if err := d.saveFeatures(s); err != nil {
		return err
	}
	if err := d.saveFitted(s); err != nil {
		return err
	}
	if err := s.file(classesFile, d.writeClassMap); err != nil {
		return err
	}
	if err := saveNames(s, idsFile, d.IDs); err != nil {
		return err
	}
	if err := saveNames(s, namesFile, d.Classes); err != nil {
		return err
	}
	if err := d.saveMerged(s); err != nil {
		return err
	}
	if d.Times != nil {
		if err := s.file(timesFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(d.Times) }); err != nil {
			return err
		}
	}
	if err := s.file(rolesFile, d.writeRoles); err != nil {
		return err
	}
	return s.disk.SyncDir(s.dir)
}

// saveNames writes a list of names as JSON, unless they are the decimal indices that [Open] gives without a file.
func saveNames(s saving, file string, names []string) error {
	if slices.Equal(names, Decimals(len(names))) {
		return nil
	}
	if err := checkNames(names, len(names)); err != nil { // JSON would change other names
		return fmt.Errorf("%s: %w", file, err)
	}
	return s.file(file, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(names)
	})
}

func (d *Dataset) saveFeatures(s saving) error {
	if d.X.Sparse != nil {
		return s.file(sparseFile, func(w io.Writer) error { return writeCSR(w, d.X.Sparse) })
	}
	return s.file(denseFile, func(w io.Writer) error {
		wide := make([]float64, len(d.X.Dense.Data))
		for k, v := range d.X.Dense.Data {
			wide[k] = float64(v)
		}
		return numpy.Write(w, wide, d.X.Rows(), d.X.Cols())
	})
}

// writeCSR writes a matrix for scipy.sparse.load_npz; SciPy brings indices and indptr to one integer type by itself.
func writeCSR(w io.Writer, m *graph.CSR) error {
	values := m.Val
	if values == nil {
		values = make([]float32, m.NNZ())
		for k := range values {
			values[k] = 1
		}
	}
	indptr := make([]int64, len(m.RowPtr))
	for k, v := range m.RowPtr {
		indptr[k] = int64(v)
	}
	z := zip.NewWriter(w)
	for _, entry := range []struct {
		name  string
		value any
		shape []int
	}{
		{"indices", m.ColIdx, []int{m.NNZ()}},
		{"indptr", indptr, []int{len(indptr)}},
		{"format", "csr", nil},
		{"shape", []int64{int64(m.Rows), int64(m.Cols)}, []int{2}},
		{"data", values, []int{len(values)}},
	} {
		out, err := z.Create(entry.name + ".npy")
		if err == nil {
			err = numpy.Write(out, entry.value, entry.shape...)
		}
		if err != nil {
			return fmt.Errorf("array %s: %w", entry.name, err)
		}
	}
	return z.Close()
}

// writeClassMap writes the nodes in order; a node without a class is left out.
func (d *Dataset) writeClassMap(w io.Writer) error {
	out := []byte{'{'}
	for i, c := range d.Labels {
		if c < 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ", "...)
		}
		out = fmt.Appendf(out, "%q: %d", strconv.Itoa(i), c)
	}
	_, err := w.Write(append(out, "}\n"...))
	return err
}

func (d *Dataset) writeRoles(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Train      []int32 `json:"tr"`
		Validation []int32 `json:"va"`
		Test       []int32 `json:"te"`
		Unlabelled []int32 `json:"un,omitempty"`
	}{d.Train, d.Validation, d.Test, d.Unlabelled})
}
