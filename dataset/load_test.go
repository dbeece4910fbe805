package dataset

import (
	"archive/zip"
	"bytes"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/graph"
	"rivulet/test/expect"
)

// pathSet returns the data set of pathFiles.
func pathSet() *Dataset {
	return &Dataset{
		Name: "path",
		IDs:  []string{"0", "1", "2", "3", "4", "5"},
		Adj: &graph.CSR{Rows: 6, Cols: 6, RowPtr: []int{0, 1, 3, 5, 7, 9, 10},
			ColIdx: []int32{1, 0, 2, 1, 3, 2, 4, 3, 5, 4}},
		Labels:  []int32{0, -1, 0, 1, 0, 1},
		Classes: []string{"0", "1"},
		X: graph.Features{Sparse: &graph.CSR{Rows: 6, Cols: 4, RowPtr: []int{0, 2, 3, 3, 4, 5, 6},
			ColIdx: []int32{0, 3, 1, 2, 0, 3}, Val: []float32{1, 2, 0.5, 1, 1, -1}}},
		Train: []int32{0, 2}, Unlabelled: []int32{1}, Validation: []int32{3}, Test: []int32{4},
		BagOfWords: true,
	}
}

func TestLoad(t *testing.T) {
	d, err := openDir(writeFiles(t, pathFiles()))
	expect.OK(t, err)
	expect.Same(t, pathSet(), d, "the data set")
	if got := withoutRole(d); got != 1 {
		t.Errorf("%d nodes without role, want 1", got)
	}
}

// The same data in every form that the layout allows has one fingerprint.
func TestLoadForms(t *testing.T) {
	want := pathSet().Fingerprint()
	ones := func(descr string, v any) []byte { return npyBytes(descr, "(10,)", v) }
	bytes10 := bytes.Repeat([]byte{1}, 10)
	for name, change := range map[string]func(map[string][]byte){
		"as it is": func(map[string][]byte) {},
		"stored":   func(f map[string][]byte) { f[adjFile] = pathAdj().zip(zip.Store) },
		"bool":     func(f map[string][]byte) { f[adjFile] = pathAdj().with("data", ones("|b1", bytes10)).zip(zip.Deflate) },
		"int8":     func(f map[string][]byte) { f[adjFile] = pathAdj().with("data", ones("|i1", bytes10)).zip(zip.Deflate) },
		"uint8":    func(f map[string][]byte) { f[adjFile] = pathAdj().with("data", ones("|u1", bytes10)).zip(zip.Deflate) },
		"int64": func(f map[string][]byte) {
			f[adjFile] = pathAdj().with("data", ones("<i8", []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1})).zip(zip.Store)
		},
		"format of one": func(f map[string][]byte) {
			f[adjFile] = pathAdj().with("format", npyBytes("|S3", "(1,)", []byte("csr"))).zip(zip.Store)
		},
		"int64 indices": func(f map[string][]byte) {
			f[adjFile] = pathAdj().with("indices", ones("<i8", []int64{1, 0, 2, 1, 3, 2, 4, 3, 5, 4})).zip(zip.Store)
		},
		"uint16 indices": func(f map[string][]byte) {
			f[adjFile] = pathAdj().with("indices", ones("<u2", []uint16{1, 2, 0, 1, 3, 2, 4, 3, 5, 4})).zip(zip.Store)
		},
		"big endian": func(f map[string][]byte) {
			f[adjFile] = pathAdj().with("shape", npyBytes(">i4", "(2,)", []byte{0, 0, 0, 6, 0, 0, 0, 6})).zip(zip.Store)
		},
		"one-hot": func(f map[string][]byte) {
			f[classesFile] = []byte(`{"5":[0,1],"4":[1,0],"3":[0,1],"2":[1,0],"1":[0,1],"0":[1,0]}`)
		},
		"un has none": func(f map[string][]byte) { f[classesFile] = []byte(`{"0":0,"2":0,"3":1,"4":0,"5":1}`) },
		"un has null": func(f map[string][]byte) { f[classesFile] = []byte(`{"0":0,"1":null,"2":0,"3":1,"4":0,"5":1}`) },
	} {
		t.Run(name, func(t *testing.T) {
			files := pathFiles()
			change(files)
			d, err := openDir(writeFiles(t, files))
			expect.OK(t, err)
			if got := d.Fingerprint(); got != want {
				t.Errorf("fingerprint %s, want %s: %+v", got, want, d)
			}
		})
	}
}

func TestLoadDenseForms(t *testing.T) {
	want := &graph.Dense{Rows: 6, Cols: 2, Data: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5, -1}}
	c := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5, -1}
	fortran := []float32{0, 2, 4, 6, 8, 10.5, 1, 3, 5, 7, 9, -1}
	for name, content := range map[string][]byte{
		"float32":         npyBytes("<f4", "(6, 2)", want.Data),
		"float64":         npyBytes("<f8", "(6, 2)", c),
		"fortran float32": npyOrder("<f4", "True", "(6, 2)", fortran),
	} {
		t.Run(name, func(t *testing.T) {
			files := pathFiles()
			delete(files, sparseFile)
			files[denseFile] = content
			d, err := openDir(writeFiles(t, files))
			expect.OK(t, err)
			if diff := cmp.Diff(want, d.X.Dense); diff != "" || d.BagOfWords {
				t.Errorf("bag of words %v (-want +got):\n%s", d.BagOfWords, diff)
			}
		})
	}
}

// malformed is one way to break a file of the path set; the error must name the file and contain all of the words.
type malformed struct {
	name, file string
	content    []byte
	want       []string
}

func TestLoadRefusesAdjacency(t *testing.T) {
	adj := func(name string, content []byte) []byte { return pathAdj().with(name, content).zip(zip.Deflate) }
	whole := pathAdj().zip(zip.Deflate)
	testMalformed(t, []malformed{
		{"not a zip", adjFile, []byte("PK or not"), []string{"not an npz file"}},
		{"empty file", adjFile, nil, []string{"not an npz file"}},
		{"truncated zip", adjFile, whole[:len(whole)/2], []string{"not an npz file"}},
		{"no data", adjFile, adj("data", nil), []string{"array data", "no entry data.npy"}},
		{"bsr", adjFile, adj("format", npyBytes("|S3", "()", []byte("bsr"))), []string{"array format", `"bsr"`, `"csr"`}},
		{"format is a number", adjFile, adj("format", npyBytes("<i4", "()", []int32{3})),
			[]string{"array format", "<i4", "one text"}},
		{"not square", adjFile, adj("shape", npyBytes("<i8", "(2,)", []int64{6, 7})), []string{"array shape", "6×7"}},
		{"three shapes", adjFile, adj("shape", npyBytes("<i8", "(3,)", []int64{6, 6, 6})),
			[]string{"array shape", "3 values"}},
		{"negative shape", adjFile, adj("shape", npyBytes("<i8", "(2,)", []int64{-6, 6})),
			[]string{"array shape", "[0] is -6"}},
		{"huge shape", adjFile, adj("shape", npyBytes("<i8", "(2,)", []int64{1 << 40, 1 << 40})),
			[]string{"array shape", "[0] is 1099511627776"}},
		{"float shape", adjFile, adj("shape", npyBytes("<f8", "(2,)", []float64{6, 6})),
			[]string{"array shape", "<f8", "integer"}},
		{"short indptr", adjFile, adj("indptr", npyBytes("<i4", "(6,)", []int32{0, 1, 3, 5, 7, 10})),
			[]string{"array indptr", "7 values"}},
		{"indptr from 1", adjFile, adj("indptr", npyBytes("<i4", "(7,)", []int32{1, 1, 3, 5, 7, 9, 10})),
			[]string{"array indptr", "[0] is 1"}},
		{"indptr falls", adjFile, adj("indptr", npyBytes("<i4", "(7,)", []int32{0, 3, 1, 5, 7, 9, 10})),
			[]string{"array indptr", "[2] is 1", "[1] = 3"}},
		{"indptr too far", adjFile, adj("indptr", npyBytes("<i4", "(7,)", []int32{0, 1, 3, 5, 7, 9, 11})),
			[]string{"array indices", "11 values"}},
		{"index negative", adjFile, adj("indices", npyBytes("<i4", "(10,)", []int32{1, 0, 2, 1, -3, 2, 4, 3, 5, 4})),
			[]string{"array indices", "[4] is -3", "0…5"}},
		{"index too large", adjFile, adj("indices", npyBytes("<i4", "(10,)", []int32{1, 0, 2, 1, 6, 2, 4, 3, 5, 4})),
			[]string{"array indices", "[4] is 6", "0…5"}},
		{"index beyond int64", adjFile, adj("indices",
			npyBytes("<u8", "(10,)", []uint64{1, 0, 2, 1, 1 << 63, 2, 4, 3, 5, 4})),
			[]string{"array indices", "[4] is 9223372036854775808"}},
		{"duplicate", adjFile, adj("indices", npyBytes("<i4", "(10,)", []int32{1, 2, 2, 1, 3, 2, 4, 3, 5, 4})),
			[]string{"array indices", "row 1 lists 2 columns, 1 of them"}},
		{"stored zero", adjFile, adj("data", npyBytes("|b1", "(10,)", []byte{1, 1, 1, 1, 0, 1, 1, 1, 1, 1})),
			[]string{"array data", "edge 2–3", "0"}},
		{"bool of 2", adjFile, adj("data", npyBytes("|b1", "(10,)", []byte{1, 1, 1, 1, 2, 1, 1, 1, 1, 1})),
			[]string{"array data", "edge 2–3"}},
		{"NaN weight", adjFile, adj("data", npyBytes("<f8", "(10,)", []float64{1, 1, 1, 1, math.NaN(), 1, 1, 1, 1, 1})),
			[]string{"array data", "[4] is NaN"}},
		{"few data", adjFile, adj("data", npyBytes("<f4", "(9,)", []float32{1, 1, 1, 1, 1, 1, 1, 1, 1})),
			[]string{"array data", "10"}},
	})
}

// Shapes and sizes are compared before memory is taken for them, and a file that is cut short is an error.
func TestLoadRefusesOtherSizes(t *testing.T) {
	header := func(text string) []byte { return pathAdj().with("shape", npyHeader(text)).zip(zip.Deflate) }
	content := pathAdj()["format"]
	longHeader := append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\x7f"), content...)
	broken := pathAdj().zip(zip.Store)
	broken[bytes.Index(broken, []byte("csr"))] = 'C'
	testMalformed(t, []malformed{
		{"zip bomb", adjFile, declaring("format.npy", zip.Deflate, content, 1<<30),
			[]string{"array format", "ends before"}},
		{"over the limit", adjFile, declaring("format.npy", zip.Deflate, content, 1<<40),
			[]string{"array format", "more than the allowed"}},
		{"stored lies", adjFile, declaring("format.npy", zip.Store, content, 1<<20),
			[]string{"array format", "does not match"}},
		{"truncated deflate", adjFile, declaring("format.npy", zip.Deflate, []byte{0x4b}, 100),
			[]string{"array format", "ends before"}},
		{"checksum", adjFile, broken, []string{"array format", "checksum"}},
		{"unknown method", adjFile, declaring("format.npy", 99, content, 131),
			[]string{"array format", "unsupported compression"}},
		{"not npy", adjFile, pathAdj().with("shape", []byte("0123456789abcdef")).zip(zip.Deflate),
			[]string{"array shape", "not an npy array"}},
		{"too short for a header", adjFile, pathAdj().with("shape", []byte("\x93NUMPY")).zip(zip.Deflate),
			[]string{"array shape", "ends before"}},
		{"version 3", adjFile, pathAdj().with("shape", []byte("\x93NUMPY\x03\x00\x00\x00\x00\x00")).zip(zip.Deflate),
			[]string{"array shape", "version 3.0"}},
		{"header of 2 GB", adjFile, pathAdj().with("shape", longHeader).zip(zip.Deflate),
			[]string{"array shape", "npy header of 2147483647 bytes"}},
		{"header beyond the array", adjFile, pathAdj().with("shape", []byte("\x93NUMPY\x01\x00\x00\x20{}")).zip(zip.Deflate),
			[]string{"array shape", "npy header"}},
		{"no dictionary", adjFile, header("hello"), []string{"array shape", "npy header"}},
		{"no newline", adjFile, pathAdj().with("shape", []byte("\x93NUMPY\x01\x00\x02\x00{}")).zip(zip.Deflate),
			[]string{"array shape", "npy header"}},
		{"keys out of order", adjFile, header("{'shape': (2,), 'fortran_order': False, 'descr': '<i8'}"),
			[]string{"array shape", "npy header"}},
		{"shape of words", adjFile, header("{'descr': '<i8', 'fortran_order': False, 'shape': (two,), }"),
			[]string{"array shape", "npy header"}},
		{"negative dimension", adjFile, header("{'descr': '<i8', 'fortran_order': False, 'shape': (-2,), }"),
			[]string{"array shape", "[-2]", "does not fit"}},
		{"product overflows", adjFile, header(
			"{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"),
			[]string{"array shape", "does not fit"}},
		{"more than content", adjFile, header("{'descr': '<i8', 'fortran_order': False, 'shape': (9,), }"),
			[]string{"array shape", "does not match"}},
		{"less than content", adjFile, pathAdj().with("shape", npyBytes("<i8", "(2,)", []int64{6, 6, 6})).zip(zip.Store),
			[]string{"array shape", "does not match"}},
		{"object", adjFile, header("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"),
			[]string{"array shape", `dtype "|O"`}},
		{"structured", adjFile, header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }"),
			[]string{"array shape", "dtype"}},
		{"half floats", adjFile, header("{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }"),
			[]string{"array shape", `dtype "<f2"`}},
	})
}

func TestLoadRefusesFeatures(t *testing.T) {
	feats := func(name string, content []byte) []byte { return pathFeatures().with(name, content).zip(zip.Deflate) }
	dense := func(v float64) []byte {
		return npyBytes("<f8", "(6, 2)", []float64{0, 0, 0, 0, 0, v, 0, 0, 0, 0, 0, 0})
	}
	whole := dense(1)
	testMalformed(t, []malformed{
		{"rows", sparseFile, pathFeatures().with("shape", npyBytes("<i8", "(2,)", []int64{5, 4})).with("indptr",
			npyBytes("<i8", "(6,)", []int64{0, 2, 3, 3, 4, 6})).zip(zip.Store),
			[]string{"array shape", "features of 5 nodes for a graph of 6"}},
		{"NaN", sparseFile, feats("data", npyBytes("<f8", "(6,)", []float64{2, 1, math.NaN(), 1, 1, 1})),
			[]string{"array data", "[2] is NaN"}},
		{"infinite", sparseFile, feats("data", npyBytes("<f4", "(6,)", []float32{2, 1, float32(math.Inf(-1)), 1, 1, 1})),
			[]string{"array data", "[2] is -Inf"}},
		{"beyond float32", sparseFile, feats("data", npyBytes("<f8", "(6,)", []float64{2, 1, 1e39, 1, 1, 1})),
			[]string{"array data", "[2] is 1e+39", "float32"}},
		{"duplicate", sparseFile, feats("indices", npyBytes("<i8", "(6,)", []int64{3, 3, 1, 2, 0, 3})),
			[]string{"array indices", "row 0"}},
		{"column", sparseFile, feats("indices", npyBytes("<i8", "(6,)", []int64{3, 0, 1, 2, 4, 3})),
			[]string{"array indices", "[4] is 4, outside 0…3"}},
		{"words", sparseFile, feats("data", npyBytes("|S1", "(6,)", []byte("abcdef"))),
			[]string{"array data", "|S1", "numbers"}},
		{"dense NaN", denseFile, dense(math.NaN()), []string{"[2, 1] is NaN"}},
		{"dense beyond float32", denseFile, dense(-1e300), []string{"[2, 1] is -1e+300"}},
		{"dense rows", denseFile, npyBytes("<f4", "(2, 6)", make([]float32, 12)),
			[]string{"features of 2 nodes for a graph of 6"}},
		{"dense vector", denseFile, npyBytes("<f4", "(12,)", make([]float32, 12)), []string{"shape [12]", "nodes×features"}},
		{"dense without columns", denseFile, npyBytes("<f4", "(6, 0)", []float32{}), []string{"shape [6 0]"}},
		{"dense truncated", denseFile, whole[:len(whole)-1], []string{"does not match"}},
	})
}

func TestLoadRefusesClassesAndRoles(t *testing.T) {
	testMalformed(t, []malformed{
		{"not JSON", classesFile, []byte("class"), []string{"invalid character"}},
		{"list", classesFile, []byte("[0, 1]"), []string{"found ["}},
		{"truncated", classesFile, []byte(pathClasses[:20]), []string{"ends too early"}},
		{"more behind", classesFile, []byte(pathClasses + "{}"), []string{"behind the JSON object"}},
		{"key", classesFile, []byte(`{"zero": 0}`), []string{`key "zero"`, "0…5"}},
		{"key out of range", classesFile, []byte(`{"6": 0}`), []string{`key "6"`, "0…5"}},
		{"key twice", classesFile, []byte(`{"1": 0, "1": 1}`), []string{"node 1 occurs twice"}},
		{"fraction", classesFile, []byte(`{"1": 0.5}`), []string{"node 1", "0.5"}},
		{"negative", classesFile, []byte(`{"1": -1}`), []string{"node 1", "-1"}},
		{"no class at all", classesFile, []byte(`{}`), []string{"no node has a class"}},
		{"missing", classesFile, []byte(`{"0": 0, "1": 1, "2": 0, "3": 1, "5": 1}`),
			[]string{"node 4 of role te has no class"}},
		{"several classes", classesFile, []byte(`{"0": [1, 0, 1]}`), []string{"node 2 of role tr has no class"}},
		{"no class set", classesFile, []byte(`{"0": [0, 0]}`), []string{"node 0", "none of its 2 classes"}},
		{"list of others", classesFile, []byte(`{"0": [0, 7]}`), []string{"node 0", "7 at [1]"}},
		{"list of words", classesFile, []byte(`{"0": ["a"]}`), []string{"node 0"}},
		{"lists of two lengths", classesFile, []byte(`{"0": [0, 1], "1": [1, 0, 0]}`),
			[]string{"node 1", "a list of 3, others as a list of 2"}},
		{"int and list", classesFile, []byte(`{"0": 1, "1": [1, 0]}`), []string{"node 1", "a list of 2, others as an int"}},

		{"unknown role", rolesFile, []byte(`{"tr": [0], "val": [1]}`), []string{`role "val"`}},
		{"role twice", rolesFile, []byte(`{"tr": [0], "tr": [1]}`), []string{"array tr", "occurs twice"}},
		{"no test", rolesFile, []byte(`{"tr": [0], "va": [1]}`), []string{"array te", "missing or empty"}},
		{"empty", rolesFile, []byte(`{"tr": [], "va": [1], "te": [2]}`), []string{"array tr", "missing or empty"}},
		{"not a list", rolesFile, []byte(`{"tr": 5}`), []string{"array tr", "found 5"}},
		{"not an index", rolesFile, []byte(`{"tr": ["0"]}`), []string{"array tr", "[0] is 0"}},
		{"fraction", rolesFile, []byte(`{"tr": [0, 1.5]}`), []string{"array tr", "[1] is 1.5"}},
		{"nested", rolesFile, []byte(`{"tr": [[0]]}`), []string{"array tr", "[0] is ["}},
		{"out of range", rolesFile, []byte(`{"tr": [0, 6]}`), []string{"array tr", "[1] is 6, outside 0…5"}},
		{"negative", rolesFile, []byte(`{"tr": [-1]}`), []string{"array tr", "[0] is -1"}},
		{"not disjoint", rolesFile, []byte(`{"tr": [0, 2], "va": [3], "te": [4, 2]}`),
			[]string{"array te", "[1] is node 2", "already in tr"}},
		{"twice in one", rolesFile, []byte(`{"tr": [0, 2, 0]}`), []string{"array tr", "[2] is node 0", "already in tr"}},
		{"truncated", rolesFile, []byte(`{"tr": [0, 2`), []string{"array tr", "ends too early"}},
	})
}

func testMalformed(t *testing.T, cases []malformed) {
	for _, c := range cases {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			files := pathFiles()
			if c.file == denseFile {
				delete(files, sparseFile)
			}
			files[c.file] = c.content
			d, err := openDir(writeFiles(t, files))
			if err == nil {
				t.Fatalf("no error: %+v", d)
			}
			for _, word := range append([]string{"loading data set", c.file}, c.want...) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error lacks %q: %v", word, err)
				}
			}
		})
	}
}

// A graph with one direction of an edge, self-loops or weights is made an undirected one without, with a note.
func TestLoadMakesGraphsUndirected(t *testing.T) {
	adj := func(name string, content []byte) []byte { return pathAdj().with(name, content).zip(zip.Deflate) }
	for want, content := range map[string][]byte{
		"2 self-loops were dropped": adj("indices",
			npyBytes("<i4", "(10,)", []int32{1, 0, 2, 1, 2, 2, 3, 3, 5, 4})),
		"2 edges that stood in one direction": adj("indices",
			npyBytes("<i4", "(10,)", []int32{1, 0, 2, 1, 3, 2, 4, 3, 5, 0})),
		"Weights of edges were dropped: 2 were": adj("data",
			npyBytes("<f4", "(10,)", []float32{1, 1, 1, 1, 2.5, 2.5, 1, 1, 1, 1})),
	} {
		files := pathFiles()
		files[adjFile] = content
		d, err := openDir(writeFiles(t, files))
		expect.OK(t, err)
		if notes := strings.Join(d.Notes, " "); !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
		checkPromises(t, d)
	}
}

func TestLoadMissingFiles(t *testing.T) {
	for file := range maps.Clone(pathFiles()) {
		files := pathFiles()
		delete(files, file)
		expect.Error(t, expect.ErrorOf(openDir(writeFiles(t, files))), file, "without %s", file)
	}
	files := pathFiles()
	files[denseFile] = npyBytes("<f4", "(6, 2)", make([]float32, 12))
	expect.Error(t, expect.ErrorOf(openDir(writeFiles(t, files))), "both exist", "sparse and dense features together")
}

// TestSciPyFiles reads what NumPy and SciPy wrote (testdata/make.py).
func TestSciPyFiles(t *testing.T) {
	adj := graph.Symmetric(5, [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}, {0, 2}})
	sparse := graph.Features{Sparse: &graph.CSR{Rows: 5, Cols: 3, RowPtr: []int{0, 1, 2, 2, 4, 5},
		ColIdx: []int32{0, 1, 0, 2, 1}, Val: []float32{1.5, -2, 0.25, 3, 1}}}
	dense := graph.Features{Dense: &graph.Dense{Rows: 5, Cols: 3,
		Data: []float32{1.5, 0, 0, 0, -2, 0, 0, 0, 0, 0.25, 0, 3, 0, 1, 0}}}
	for name, x := range map[string]graph.Features{"sparse": sparse, "sparse_array": sparse,
		"dense": dense, "dense_fortran": dense} {
		t.Run(name, func(t *testing.T) {
			d, err := openDir("testdata/" + name)
			expect.OK(t, err)
			want := &Dataset{Name: name, IDs: Decimals(5), Adj: adj, X: x, Labels: []int32{0, 1, 0, 1, 0}, Classes: Decimals(2),
				Train: []int32{0, 3}, Validation: []int32{1}, Test: []int32{2, 4}, BagOfWords: x.Sparse != nil}
			expect.Same(t, want, d, "the data set")
		})
	}
}

// TestPyTorchGeometric reads what rivulet_mcond.export made of a Data object (python/tests/pyg/test_export.py
// --fixtures).
func TestPyTorchGeometric(t *testing.T) {
	for name, x := range map[string]graph.Features{
		"dense": {Dense: &graph.Dense{Rows: 5, Cols: 3, Data: []float32{1.5, 0, 0, 0, -2, 0, 0, 0, 0, 0.25, 0, 3, 0, 1, 0}}},
		"sparse": {Sparse: &graph.CSR{Rows: 5, Cols: 3, RowPtr: []int{0, 1, 2, 2, 4, 5},
			ColIdx: []int32{0, 1, 0, 2, 1}, Val: []float32{1.5, -2, 0.25, 3, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := openDir("testdata/pyg/" + name)
			expect.OK(t, err)
			want := &Dataset{Name: name, IDs: Decimals(5), Classes: Decimals(2), Labels: []int32{0, 1, 0, 1, -1}, X: x,
				Adj:   graph.Symmetric(5, [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}, {0, 2}}),
				Train: []int32{0, 3}, Validation: []int32{1}, Test: []int32{2}, Unlabelled: []int32{4}, BagOfWords: x.Sparse != nil}
			expect.Same(t, want, d, "the data set")
		})
	}
}

// openDir reads a data set of the layout.
func openDir(dir string) (*Dataset, error) { return Open(dir, OpenOptions{Format: GraphSAINT}) }

// withoutRole is the number of nodes that are in no role: they are neither part of the original graph nor arrivals.
func withoutRole(d *Dataset) int {
	return d.Nodes() - len(d.Train) - len(d.Unlabelled) - len(d.Validation) - len(d.Test)
}
