package weights

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
)

// The sizes of the files of testdata, which python/tests/pyg/test_export_model.py writes.
const features, classes = 6, 3

func pattern(rows, cols int, values []float32) *graph.CSR {
	var edges []graph.Edge
	for k, v := range values {
		if v != 0 {
			edges = append(edges, graph.Edge{Row: int32(k / cols), Col: int32(k % cols), Val: 1})
		}
	}
	return graph.NewCSR(rows, cols, edges)
}

// Models of exported files answer on one graph as PyTorch Geometric answers: names, order, transposition, α, hops,
// missing biases and relations are right.
func TestModelsAnswerAsPyTorchGeometric(t *testing.T) {
	content, err := os.ReadFile("testdata/answers.safetensors")
	expect.OK(t, err)
	answers, err := safetensors.DecodeArrays(content)
	expect.OK(t, err)
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	x := graph.Features{Dense: &graph.Dense{Rows: 9, Cols: features, Data: answers["x"].Values}}
	nobody := &attach.Batch{X: x.Take(nil), R: &graph.CSR{Cols: 9, RowPtr: []int{0}}}
	files, err := filepath.Glob("testdata/*.safetensors")
	expect.OK(t, err)
	tried := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".safetensors")
		if name == "answers" {
			continue
		}
		tried++
		model, _, _ := strings.Cut(name, "_")
		m, err := Read(file, model, features, classes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		adj := answers["adj."+name].Values
		var logits *graph.Dense
		switch whole := pattern(9, 9, adj[:81]); {
		case model == "dirsage":
			all := graph.InSlots(whole, whole.Transpose()).Means(9)
			logits = m.LogitsOf(all, m.Tables(all, plain.Raw(x)), x, plain)
		case model == "rgcn":
			all := graph.InSlots(whole, pattern(9, 9, adj[81:162]), pattern(9, 9, adj[162:])).Means(9)
			logits = m.LogitsOf(all, m.Tables(all, plain.Raw(x)), x, plain)
		default:
			logits = m.Joint(whole, plain.Raw(x), plain).(infer.NodeLogits).GraphLogits(nobody)
		}
		for k, want := range answers["logits."+name].Values {
			if v := logits.Data[k]; math.Abs(float64(v-want)) > 1e-5 {
				t.Errorf("%s: node %d, class %d: %v, PyTorch Geometric says %v", name, k/classes, k%classes, v, want)
				break
			}
		}
	}
	if tried != 13 {
		t.Errorf("%d files, want 13", tried)
	}
}

// fileOf returns a safetensors file of tensors of these types and shapes, all of whose values are 0.
func fileOf(t *testing.T, dtype string, shapes map[string][]int) []byte {
	t.Helper()
	header, end := map[string]any{}, 0
	for name, shape := range shapes {
		size := 4
		for _, n := range shape {
			size *= n
		}
		header[name] = map[string]any{"dtype": dtype, "shape": shape, "data_offsets": []int{end, end + size}}
		end += size
	}
	text, err := json.Marshal(header)
	expect.OK(t, err)
	out := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	return append(out, make([]byte, end)...)
}

func TestReadRefuses(t *testing.T) {
	sgc := map[string][]int{"lin.weight": {6, 3}, "lin.bias": {1, 3}}
	for want, c := range map[string]struct {
		dtype  string
		shapes map[string][]int
	}{
		"tensor lin.weight is [6 3 1], want a matrix":         {"F32", map[string][]int{"lin.weight": {6, 3, 1}, "lin.bias": {3}}},
		"lin.weight is of I32, want F32":                      {"I32", map[string][]int{"lin.weight": {6, 3}}},
		`the file has ["conv.weight"]`:                        {"F32", map[string][]int{"conv.weight": {6, 3}}},
		"lin.weight is 5×3, and the data have 6 features":     {"F32", map[string][]int{"lin.weight": {5, 3}, "lin.bias": {1, 3}}},
		"the last layer has 4 outputs, and the data have 3 c": {"F32", map[string][]int{"lin.weight": {6, 4}, "lin.bias": {1, 4}}},
	} {
		path := filepath.Join(t.TempDir(), "w.safetensors")
		expect.OK(t, os.WriteFile(path, fileOf(t, c.dtype, c.shapes), 0o600))
		_, err := Read(path, "sgc", features, classes)
		expect.Error(t, err, want, "%v", c.shapes)
		expect.Error(t, err, path, "%v: the file's name", c.shapes)
	}
	whole := fileOf(t, "F32", sgc)
	if _, err := decode(whole, "sgc", features, classes); err != nil {
		t.Error(err)
	}
	expect.Error(t, expect.ErrorOf(decode(whole[:len(whole)-1], "sgc", features, classes)), "", "a file that is cut short")
	expect.Error(t, expect.ErrorOf(decode(whole, "gat", features, classes)), "gat", "an unknown model")
	expect.Error(t, expect.ErrorOf(Read("testdata/none", "sgc", features, classes)), "reading weights", "no file")
}

// A file of a state_dict, matrices [out, in] and biases [out], is the model of the file [in, out] and [1, out], also
// where the first matrix is square.
func TestReadTurnsPyTorchsMatrices(t *testing.T) {
	for _, hidden := range []int{4, features} {
		ours := map[string][]int{"convs.0.lin.weight": {features, hidden}, "convs.0.bias": {1, hidden},
			"convs.1.lin.weight": {hidden, classes}, "convs.1.bias": {1, classes}}
		theirs := map[string][]int{}
		values := map[string][]float32{}
		for name, shape := range ours {
			theirs[name] = []int{shape[1], shape[0]}
			if shape[0] == 1 {
				theirs[name] = shape[1:]
			}
			for k := range shape[0] * shape[1] {
				values[name] = append(values[name], float32(len(name)+k*k))
			}
		}
		want, err := decode(filled(t, ours, func(name string, k int) float32 { return values[name][k] }), "gcn", features,
			classes)
		expect.OK(t, err)
		got, err := decode(filled(t, theirs, func(name string, k int) float32 {
			if rows := ours[name][0]; rows > 1 {
				return values[name][k%rows*ours[name][1]+k/rows]
			}
			return values[name][k]
		}), "gcn", features, classes)
		expect.OK(t, err)
		for i, p := range want.Params() {
			if q := got.Params()[i]; q.Name != p.Name || !slices.Equal(q.Value.Data, p.Value.Data) {
				t.Errorf("hidden %d: %s is %v, want %v", hidden, q.Name, q.Value, p.Value)
			}
		}
	}
}

// filled returns a safetensors file of tensors of these shapes and values.
func filled(t *testing.T, shapes map[string][]int, value func(name string, k int) float32) []byte {
	t.Helper()
	file := fileOf(t, "F32", shapes)
	header := binary.LittleEndian.Uint64(file)
	var at map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	expect.OK(t, json.Unmarshal(file[8:8+header], &at))
	for name, of := range at {
		for k, place := 0, 8+int(header)+of.Offsets[0]; place < 8+int(header)+of.Offsets[1]; k, place = k+1, place+4 {
			binary.LittleEndian.PutUint32(file[place:], math.Float32bits(value(name, k)))
		}
	}
	return file
}
