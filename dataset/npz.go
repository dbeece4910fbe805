package dataset

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"slices"

	"rivulet/graph"
)

// deflateRatio is the most that deflate can expand: 258 bytes from 2 bits, less the block's overhead (zlib manual).
const deflateRatio = 1032

// archive is an npz file: a zip of npy arrays.
type archive struct {
	zip   *zip.Reader
	size  int64
	limit int64 // bytes of one array
}

func openArchive(r io.ReaderAt, size, limit int64) (*archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not an npz file: %w", err)
	}
	return &archive{zip: z, size: size, limit: limit}, nil
}

// read opens the named array, lets decode take its content and closes it. Errors name the array.
func (z *archive) read(name string, decode func(*array) error) error {
	if err := z.readEntry(name+".npy", decode); err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return nil
}

func (z *archive) readEntry(name string, decode func(*array) error) error {
	var entry *zip.File
	for _, f := range z.zip.File {
		if f.Name != name {
			continue
		}
		if entry != nil {
			return fmt.Errorf("the zip has two entries %s", name)
		}
		entry = f
	}
	if entry == nil {
		return fmt.Errorf("the zip has no entry %s", name)
	}
	if err := z.believe(entry); err != nil {
		return err
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	a, err := openArray(content, int64(entry.UncompressedSize64))
	if err != nil {
		return err
	}
	return decode(a)
}

// believe checks the sizes that a zip entry declares before anything is allocated for them.
func (z *archive) believe(f *zip.File) error {
	packed, size := f.CompressedSize64, f.UncompressedSize64
	switch {
	case size > uint64(z.limit):
		return fmt.Errorf("zip entry of %d bytes, more than the allowed %d", size, z.limit)
	case packed > uint64(z.size):
		return fmt.Errorf("zip entry of %d compressed bytes in a file of %d", packed, z.size)
	case f.Method == zip.Store && packed != size:
		return fmt.Errorf("stored zip entry of %d bytes declares %d", packed, size)
	case f.Method != zip.Store && size > deflateRatio*packed:
		return fmt.Errorf("zip entry of %d compressed bytes cannot hold the declared %d", packed, size)
	}
	return nil
}

// readCSR reads a SciPy CSR matrix as scipy.sparse.save_npz writes it and checks all of it. Rows come back sorted; a
// column that a row lists twice is an error.
func readCSR(z *archive) (*graph.CSR, error) {
	if err := z.read("format", checkFormat); err != nil {
		return nil, err
	}
	m := &graph.CSR{}
	if err := z.read("shape", func(a *array) error { return decodeShape(a, m) }); err != nil {
		return nil, err
	}
	if err := z.read("indptr", func(a *array) error { return decodeRowPtr(a, m) }); err != nil {
		return nil, err
	}
	if err := z.read("indices", func(a *array) error { return decodeColumns(a, m) }); err != nil {
		return nil, err
	}
	if err := z.read("data", func(a *array) error { return decodeValues(a, m) }); err != nil {
		return nil, err
	}
	if err := sortDistinct(m); err != nil {
		return nil, fmt.Errorf("array indices: %w", err)
	}
	return m, nil
}

func checkFormat(a *array) error {
	format, err := a.text()
	if err != nil {
		return err
	}
	if format != "csr" {
		return fmt.Errorf("the matrix is stored as %q, want \"csr\"", format)
	}
	return nil
}

func decodeShape(a *array, m *graph.CSR) error {
	if a.count != 2 {
		return fmt.Errorf("%d values, want rows and columns", a.count)
	}
	return a.ints(func(k int, v int64) error {
		if v < 1 || v > math.MaxInt32 {
			return fmt.Errorf("[%d] is %d, outside 1…%d", k, v, math.MaxInt32)
		}
		if k == 0 {
			m.Rows = int(v)
		} else {
			m.Cols = int(v)
		}
		return nil
	})
}

func decodeRowPtr(a *array, m *graph.CSR) error {
	if len(a.shape) != 1 || a.count != m.Rows+1 {
		return fmt.Errorf("shape %v, want rows+1 = %d values", a.shape, m.Rows+1)
	}
	m.RowPtr = make([]int, a.count)
	return a.ints(func(k int, v int64) error {
		switch {
		case k == 0 && v != 0:
			return fmt.Errorf("[0] is %d, want 0", v)
		case k > 0 && v < int64(m.RowPtr[k-1]):
			return fmt.Errorf("[%d] is %d, below [%d] = %d", k, v, k-1, m.RowPtr[k-1])
		}
		m.RowPtr[k] = int(v)
		return nil
	})
}

func decodeColumns(a *array, m *graph.CSR) error {
	if nnz := m.RowPtr[m.Rows]; len(a.shape) != 1 || a.count != nnz {
		return fmt.Errorf("shape %v, want indptr[%d] = %d values", a.shape, m.Rows, nnz)
	}
	m.ColIdx = make([]int32, a.count)
	return a.ints(func(k int, v int64) error {
		if v < 0 || v >= int64(m.Cols) {
			return fmt.Errorf("[%d] is %d, outside 0…%d", k, v, m.Cols-1)
		}
		m.ColIdx[k] = int32(v)
		return nil
	})
}

func decodeValues(a *array, m *graph.CSR) error {
	if len(a.shape) != 1 || a.count != len(m.ColIdx) {
		return fmt.Errorf("shape %v, want as many values as indices, %d", a.shape, len(m.ColIdx))
	}
	m.Val = make([]float32, a.count)
	return a.floats(func(k int, v float32) error {
		m.Val[k] = v
		return nil
	})
}

// sortDistinct orders the columns of each row and refuses a column that stands twice in a row.
func sortDistinct(m *graph.CSR) error {
	m.DropOnes()
	entries := m.NNZ()
	before := slices.Clone(m.RowPtr)
	m.SortRows()
	if m.NNZ() == entries {
		return nil
	}
	for i := range m.Rows {
		if m.RowLen(i) != before[i+1]-before[i] {
			return fmt.Errorf("row %d lists %d columns, %d of them distinct", i, before[i+1]-before[i], m.RowLen(i))
		}
	}
	return nil
}

// readDense reads an n×d matrix of numbers in either memory order.
func readDense(a *array) (*graph.Dense, error) {
	if len(a.shape) != 2 || a.shape[0] > math.MaxInt32 || a.shape[1] > math.MaxInt32 || a.count == 0 {
		return nil, fmt.Errorf("shape %v, want nodes×features", a.shape)
	}
	x := graph.NewDense(a.shape[0], a.shape[1])
	err := a.floats(func(k int, v float32) error {
		i, j := a.position(k)
		x.Data[i*x.Cols+j] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}
