package artifact

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rivulet/artifact/safetensors"
	"rivulet/test/expect"
)

// allocated returns the bytes that f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// allowance bounds what a reader may allocate for an input of that many bytes; nothing that the input merely claims
// counts. JSON of many small members takes the most.
func allowance(input int) uint64 { return 4<<20 + 2000*uint64(input) }

func FuzzSafetensors(f *testing.F) {
	f.Add([]byte{})
	if file, err := os.ReadFile(filepath.Join("testdata", "python.safetensors")); err == nil {
		f.Add(file)
	} else {
		f.Fatal(err)
	}
	file, err := safetensors.Encode([]safetensors.Tensor{
		safetensors.Int64s("adj.indptr", "", []int{0, 1, 2}), safetensors.Int32s("adj.indices", "", []int32{1, 0}),
		safetensors.Float32s("adj.data", "", []float32{1, 1}, 2), safetensors.Float32s("x", "", make([]float32, 6), 2, 3),
		safetensors.Float32s("tables.u0", "", make([]float32, 4), 2, 2),
		safetensors.Float32s("tables.c", "", make([]float32, 2), 2, 1),
		safetensors.Int64s("ids.offsets", "", []int{0, 1, 3}), {Name: "ids.bytes", DType: safetensors.U8, Shape: []int{3},
			Data: []byte("abc")},
	})
	expect.OK(f, err)
	f.Add(file)
	f.Add(file[:len(file)/2])
	growth, err := safetensors.Encode([]safetensors.Tensor{
		safetensors.Float32s("dictionary", "", make([]float32, 8), 2, 4), safetensors.Int64s("entries", "", []int{1}),
		safetensors.Float32s("sgc.u0.scale", "", []float32{1}, 1),
		safetensors.Float32s("sgc.u1.factor", "", make([]float32, 2), 2, 1),
		safetensors.Float32s("sgc.c.scale", "", []float32{1}, 1),
	})
	expect.OK(f, err)
	f.Add(growth)
	f.Fuzz(func(t *testing.T, file []byte) {
		total := allocated(func() { readEverything(t, file) })
		if most := allowance(len(file)); total > most {
			t.Fatalf("%d bytes allocated for a file of %d, want at most %d", total, len(file), most)
		}
	})
}

// readEverything reads a file as each kind of file; no content may panic, and what is accepted must be what it says.
func readEverything(t *testing.T, file []byte) {
	tensors, err := safetensors.Decode(file)
	if err != nil {
		return
	}
	if arrays, err := safetensors.DecodeArrays(file); err == nil && len(arrays) != len(tensors) {
		t.Fatalf("%d arrays of %d tensors", len(arrays), len(tensors))
	}
	size, again := 0, []safetensors.Tensor{}
	for _, x := range tensors {
		size += len(x.Data)
		again = append(again, x)
	}
	if size > len(file) {
		t.Fatalf("tensors of %d bytes in a file of %d", size, len(file))
	}
	if _, err := safetensors.Encode(again); err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	m := &Manifest{SyntheticNodes: 2, Data: Data{Nodes: 2, Features: 3, Classes: []string{"a", "b"}},
		Mapping: MappingInfo{Rows: 2}}
	b := &Bundle{Manifest: *m, Models: []Model{{Name: "sgc"}}}
	m.Models = []ModelInfo{{Name: "sgc"}}
	b.Manifest = *m
	whole := map[string]bool{}
	for _, name := range []string{syntheticFile, mappingFile, growthFile, modelFile("sgc")} {
		whole[name] = decodeTensorFile(b, name, file) == nil
	}
	if whole[syntheticFile] {
		_ = b.validateSynthetic()
	}
	if whole[mappingFile] {
		_ = b.validateMapping()
	}
	if whole[growthFile] {
		_ = b.validateGrowth()
	}
}

func FuzzManifest(f *testing.F) {
	doc, err := os.ReadFile("FORMAT.md")
	expect.OK(f, err)
	_, rest, _ := strings.Cut(string(doc), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	f.Add([]byte(example))
	f.Add([]byte(strings.ReplaceAll(example, "\n", "")))
	f.Add([]byte(`{"format_version":2}`))
	f.Add([]byte(`{"format_version":1,"models":[{}],"files":{"a":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m *Manifest
		total := allocated(func() {
			var err error
			if m, err = ParseManifest(data); err != nil {
				m = nil
			}
		})
		if most := allowance(len(data)); total > most {
			t.Fatalf("%d bytes allocated for a manifest of %d, want at most %d", total, len(data), most)
		}
		if m == nil {
			return
		}
		text, err := encodeManifest(m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := ParseManifest(text); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, text)
		}
	})
}
