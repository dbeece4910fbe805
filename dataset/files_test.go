package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rivulet/test/expect"
)

// npyBytes returns an npy file of version 1.0: a header of these words, then the values in little-endian order.
func npyBytes(descr, shape string, values any) []byte {
	return npyOrder(descr, "False", shape, values)
}

func npyOrder(descr, fortran, shape string, values any) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape)
	return append(npyHeader(header), littleEndian(values)...)
}

func npyHeader(text string) []byte {
	for (10+len(text)+1)%64 != 0 {
		text += " "
	}
	text += "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(out, text...)
}

func littleEndian(values any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// entries are the arrays of an npz file by name.
type entries map[string][]byte

// with returns a copy in which one array is replaced; nil leaves it out.
func (e entries) with(name string, content []byte) entries {
	out := entries{}
	for k, v := range e {
		out[k] = v
	}
	out[name] = content
	return out
}

func (e entries) zip(method uint16) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if e[name] == nil {
			continue
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err != nil {
			panic(err)
		}
		if _, err := w.Write(e[name]); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// declaring returns a zip with one entry whose header declares sizes and method as given over the content.
func declaring(name string, method uint16, content []byte, size uint64) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: method, CompressedSize64: uint64(len(content)),
		UncompressedSize64: size})
	if err != nil {
		panic(err)
	}
	if _, err := w.Write(content); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// A set of six nodes: the path 0–1–2–3–4–5, four features, two classes, node 5 in no role.
func pathAdj() entries {
	return entries{
		"format":  npyBytes("|S3", "()", []byte("csr")),
		"shape":   npyBytes("<i8", "(2,)", []int64{6, 6}),
		"indptr":  npyBytes("<i4", "(7,)", []int32{0, 1, 3, 5, 7, 9, 10}),
		"indices": npyBytes("<i4", "(10,)", []int32{1, 0, 2, 1, 3, 2, 4, 3, 5, 4}),
		"data":    npyBytes("<f4", "(10,)", []float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
	}
}

func pathFeatures() entries {
	return entries{
		"format":  npyBytes("|S3", "()", []byte("csr")),
		"shape":   npyBytes("<i8", "(2,)", []int64{6, 4}),
		"indptr":  npyBytes("<i8", "(7,)", []int64{0, 2, 3, 3, 4, 5, 6}),
		"indices": npyBytes("<i8", "(6,)", []int64{3, 0, 1, 2, 0, 3}),
		"data":    npyBytes("<f8", "(6,)", []float64{2, 1, 0.5, 1, 1, -1}),
	}
}

const (
	pathClasses = `{"0": 0, "1": 1, "2": 0, "3": 1, "4": 0, "5": 1}`
	pathRoles   = `{"tr": [2, 0], "va": [3], "te": [4], "un": [1]}`
)

// pathFiles returns the files of the path set.
func pathFiles() map[string][]byte {
	return map[string][]byte{
		adjFile:     pathAdj().zip(zip.Deflate),
		sparseFile:  pathFeatures().zip(zip.Store),
		classesFile: []byte(pathClasses),
		rolesFile:   []byte(pathRoles),
	}
}

func writeFiles(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "path")
	expect.OK(t, os.Mkdir(dir, 0o777))
	for name, content := range files {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
	}
	return dir
}
