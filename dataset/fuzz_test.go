package dataset

import (
	"archive/zip"
	"bytes"
	"math"
	"testing"

	"rivulet/dataset/numpy"
	"rivulet/test/expect"
)

// fuzzLimit is the limit of one array while fuzzing: declared sizes beyond it must be refused before anything is
// allocated, so the process stays small whatever the input declares.
const fuzzLimit = 1 << 20

// FuzzNPY: any bytes give a matrix of finite values of the declared shape, or an error; never a panic.
func FuzzNPY(f *testing.F) {
	f.Add(npyBytes("<f4", "(2, 3)", make([]float32, 6)))
	f.Add(npyOrder("<f8", "True", "(3, 2)", make([]float64, 6)))
	f.Add(npyBytes("|b1", "(2, 2)", []byte{0, 1, 2, 1}))
	f.Add(npyBytes("<i8", "(4294967296, 4294967296)", []int64{}))
	f.Add(npyBytes(">u2", "(1, 2)", []uint16{1, 2}))
	f.Add(npyHeader("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -8), }"))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': "))
	f.Add([]byte("\x93NUMPY\x01\x00\x02\x00{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		a, err := numpy.OpenArray(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		if int64(a.Count)*a.Item > int64(len(content)) {
			t.Fatalf("%d values of %d bytes believed in %d bytes", a.Count, a.Item, len(content))
		}
		x, err := numpy.ReadDense(a)
		if err != nil {
			return
		}
		for k, v := range x.Data {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("[%d] is %v", k, v)
			}
		}
		if x.Rows*x.Cols != a.Count || len(x.Data) != a.Count {
			t.Fatalf("%d×%d and %d values from %d", x.Rows, x.Cols, len(x.Data), a.Count)
		}
	})
}

// FuzzNPZ: any bytes give a valid symmetric graph or an error; never a panic.
func FuzzNPZ(f *testing.F) {
	f.Add(pathAdj().zip(zip.Deflate))
	f.Add(pathAdj().zip(zip.Store))
	f.Add(pathFeatures().zip(zip.Store))
	f.Add(pathAdj().with("indptr", npyBytes("<i4", "(7,)", []int32{0, 3, 1, 5, 7, 9, 1 << 30})).zip(zip.Store))
	f.Add(declaring("format.npy", zip.Deflate, []byte{0x4b}, fuzzLimit))
	f.Add(declaring("format.npy", zip.Store, pathAdj()["format"], 1<<40))
	f.Fuzz(func(t *testing.T, content []byte) {
		adj, err := readAdjacency(bytes.NewReader(content), int64(len(content)), fuzzLimit)
		if err != nil {
			return
		}
		expect.OK(t, adj.Validate())
		if adj.Val != nil || !isUndirected(adj) {
			t.Fatalf("accepted %+v", adj)
		}
	})
}

// FuzzCSR skips the zip, because its checksums stop a fuzzer: any five arrays give a valid matrix or an error.
func FuzzCSR(f *testing.F) {
	seed := func(e entries) { f.Add(e["format"], e["shape"], e["indptr"], e["indices"], e["data"]) }
	seed(pathAdj())
	seed(pathFeatures())
	seed(pathAdj().with("data", npyBytes("|b1", "(10,)", bytes.Repeat([]byte{1}, 10))))
	f.Fuzz(func(t *testing.T, format, shape, indptr, indices, data []byte) {
		e := entries{"format": format, "shape": shape, "indptr": indptr, "indices": indices, "data": data}
		packed := e.zip(zip.Store)
		z, err := numpy.OpenArchive(bytes.NewReader(packed), int64(len(packed)), fuzzLimit)
		expect.OK(t, err)
		m, err := numpy.ReadSparse(z)
		if err != nil {
			return
		}
		expect.OK(t, m.Validate())
	})
}
