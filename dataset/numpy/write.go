package numpy

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"codeberg.org/sbinet/npyio/npy"

	"rivulet/graph"
)

// Write writes an array in version 1.0 of the npy format. Values are a slice of int32, int64, float32 or float64, or a
// text. npyio v0.14.0 writes a slice without elements as a scalar, so that a graph without edges could not be read.
func Write(w io.Writer, values any, shape ...int) error {
	var descr string
	switch v := values.(type) {
	case []int32:
		descr = "<i4"
	case []int64:
		descr = "<i8"
	case []float32:
		descr = "<f4"
	case []float64:
		descr = "<f8"
	case string:
		descr, values = fmt.Sprintf("|S%d", len(v)), []byte(v)
	default:
		return fmt.Errorf("an array of %T", values)
	}
	dims := ""
	for _, n := range shape {
		dims += fmt.Sprintf("%d, ", n)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, strings.TrimSuffix(dims, " "))
	const align = 64 // of the values, which a reader may map into memory
	front := len(npy.Magic) + 2 + 2
	header += strings.Repeat(" ", align-1-(front+len(header))%align) + "\n"
	out := bufio.NewWriterSize(w, 1<<16)
	_, _ = out.Write(append(npy.Magic[:], 1, 0, byte(len(header)), byte(len(header)>>8))) // Flush tells
	_, _ = out.WriteString(header)
	if err := binary.Write(out, binary.LittleEndian, values); err != nil {
		return err
	}
	return out.Flush()
}

// WriteCSR writes a matrix for scipy.sparse.load_npz; SciPy brings indices and indptr to one integer type by itself.
func WriteCSR(w io.Writer, m *graph.CSR) error {
	values := m.Values()
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
			err = Write(out, entry.value, entry.shape...)
		}
		if err != nil {
			return fmt.Errorf("array %s: %w", entry.name, err)
		}
	}
	return z.Close()
}
