package artifact_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
)

// wantError fails the test unless err holds each of the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error = %v, want it to contain %q", err, text)
		}
	}
}

func allFiles(t *testing.T, seed uint64) map[string][]byte {
	t.Helper()
	files, err := artifact.EncodeAll(artifacttest.Bundle(seed, artifacttest.Size{}))
	expect.OK(t, err)
	return files
}

func TestReadRefusesTornFiles(t *testing.T) {
	dir := mustWrite(t, artifacttest.Bundle(1, artifacttest.Size{}))
	for name, data := range readAll(t, dir) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		for _, length := range []int{0, 1, 7, 8, len(data) / 2, len(data) - 1} {
			expect.OK(t, os.WriteFile(path, data[:min(length, len(data)-1)], 0o666))
			_, err := artifact.Read(dir)
			wantError(t, err, dir, name)
		}
		expect.OK(t, os.WriteFile(path, append(slices.Clone(data), 0), 0o666))
		_, err := artifact.Read(dir)
		wantError(t, err, dir, name)

		expect.OK(t, os.Remove(path))
		_, err = artifact.Read(dir)
		wantError(t, err, dir, name, "missing")

		expect.OK(t, os.WriteFile(path, data, 0o666))
	}
	if _, err := artifact.Read(dir); err != nil {
		t.Fatalf("the files are whole again: %v", err)
	}
}

// Whatever byte of the manifest or its checksum changes, it is noticed; so are changes all over the tensor files.
func TestDecodeRefusesChangedBytes(t *testing.T) {
	files := allFiles(t, 1)
	for name, data := range files {
		step := 1
		if strings.HasSuffix(name, ".safetensors") {
			step = 11
		}
		changed := maps.Clone(files)
		for k := 0; k < len(data); k += step {
			flipped := slices.Clone(data)
			flipped[k] ^= 1 << (k % 8)
			changed[name] = flipped
			if _, err := artifact.DecodeAll(changed); err == nil {
				t.Fatalf("%s: a change of byte %d from %q to %q was not noticed", name, k, data[k], flipped[k])
			}
		}
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	dir := mustWrite(t, artifacttest.Bundle(1, artifacttest.Size{}))
	write := func(name string) {
		t.Helper()
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666))
	}
	write(".DS_Store")
	expect.OK(t, os.Mkdir(filepath.Join(dir, ".cache"), 0o777))
	write(".cache/x")
	if _, err := artifact.Read(dir); err != nil {
		t.Fatalf("names that begin with a dot: %v", err)
	}
	write("models/gcn.safetensors")
	_, err := artifact.Read(dir)
	wantError(t, err, "models/gcn.safetensors: the manifest does not list it")
}

func TestReadRefusesWhatIsNoArtifact(t *testing.T) {
	_, err := artifact.Read(t.TempDir())
	wantError(t, err, "manifest.json is missing: not an artifact")
	_, err = artifact.Read(filepath.Join(t.TempDir(), "nowhere"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v, want one of a directory that does not exist", err)
	}
}

func TestReadRefusesLinkOut(t *testing.T) {
	dir := mustWrite(t, artifacttest.Bundle(1, artifacttest.Size{}))
	path := filepath.Join(dir, "mapping.safetensors")
	outside := filepath.Join(t.TempDir(), "m")
	expect.OK(t, os.Rename(path, outside))
	if err := os.Symlink(outside, path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	_, err := artifact.Read(dir)
	wantError(t, err, "mapping.safetensors", "escapes")
}

func TestNewerFormat(t *testing.T) {
	files := allFiles(t, 1)
	text := string(files["manifest.json"])
	text = strings.Replace(text, `"format_version": 1`, `"format_version": 3`, 1)
	files["manifest.json"] = []byte(strings.Replace(text, `"method"`, `"recipe"`, 1)) // is told before what is missing
	for _, resign := range []bool{false, true} {                                      // and before what is damaged
		if resign {
			artifact.Resign(files)
		}
		_, err := artifact.DecodeAll(files)
		wantError(t, err, "manifest.json: format_version is 3, this build reads up to 2")
	}
}

func TestDecodeServingRefuses(t *testing.T) {
	serving := allFiles(t, 1)
	delete(serving, "mapping.safetensors")
	for name := range serving {
		part := maps.Clone(serving)
		delete(part, name)
		_, err := artifact.DecodeServing(part)
		wantError(t, err, name, "missing")
	}
	all := allFiles(t, 1)
	_, err := artifact.DecodeServing(all)
	wantError(t, err, "mapping.safetensors: the manifest does not list it")
}

// A file that the manifest lists and this build does not know is checked and left alone.
func TestUnknownFileIsTolerated(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{})
	files := allFiles(t, 1)
	expect.OK(t, b.Seal())
	files["reserve.safetensors"] = []byte("of a later build")
	entry := fmt.Sprintf(`"files": {"reserve.safetensors": {"sha256": %q, "bytes": 16},`,
		"87dd34a0d42d12e0d9c3f4d1df7d4f8a2ef4bb5f7f4d8a4f6f7f0a4b3f0f4a55")
	text := strings.Replace(string(files["manifest.json"]), `"files": {`, entry, 1)
	files["manifest.json"] = []byte(text)
	artifact.Resign(files)
	_, err := artifact.DecodeAll(files)
	wantError(t, err, "reserve.safetensors: SHA-256")

	files["manifest.json"] = []byte(strings.Replace(text,
		"87dd34a0d42d12e0d9c3f4d1df7d4f8a2ef4bb5f7f4d8a4f6f7f0a4b3f0f4a55", sum(files["reserve.safetensors"]), 1))
	artifact.Resign(files)
	got, err := artifact.DecodeAll(files)
	expect.OK(t, err)
	expect.Same(t, b.Mapping, got.Mapping, "M differs")
}

// Every mutation makes a bundle that must be refused on writing and, where it can be written at all, on reading.
func TestInvalidBundles(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	type mutation struct {
		change func(b *artifact.Bundle)
		want   []string
	}
	sgc := "models/sgc.safetensors"
	tests := map[string]mutation{
		"adj absent": {func(b *artifact.Bundle) {
			b.Synthetic.Adj = &graph.CSR{RowPtr: []int{0}}
		}, []string{"synthetic.safetensors", "adj"}},
		"adj negative": {func(b *artifact.Bundle) {
			b.Synthetic.Adj.Val[3] = -0.5
		}, []string{"synthetic.safetensors: adj: data[3] is -0.5"}},
		"adj NaN": {func(b *artifact.Bundle) {
			b.Synthetic.Adj.Val[0] = nan
		}, []string{"synthetic.safetensors: adj: data[0] is NaN"}},
		"adj values differ": {func(b *artifact.Bundle) {
			b.Synthetic.Adj.Val[0]++
		}, []string{"synthetic.safetensors: adj: not symmetric: values of row 0"}},
		"adj one-sided": {func(b *artifact.Bundle) { b.Synthetic.Adj = edges(6, 6, graph.Edge{Row: 1, Col: 2, Val: 1}) },
			[]string{"adj: not symmetric: row 1 has columns [2], column 1 has rows []"}},
		"adj diagonal": {func(b *artifact.Bundle) { b.Synthetic.Adj = edges(6, 6, graph.Edge{Row: 2, Col: 2, Val: 1}) },
			[]string{"adj: row 2 has an entry on the diagonal"}},
		"adj indptr": {func(b *artifact.Bundle) {
			b.Synthetic.Adj.RowPtr[1] = 99
		}, []string{"synthetic.safetensors: adj: indptr"}},
		"adj indptr first": {func(b *artifact.Bundle) {
			b.Synthetic.Adj.RowPtr[0] = 1
		}, []string{"synthetic.safetensors: adj: indptr[0] is 1"}},
		"adj column": {func(b *artifact.Bundle) {
			b.Synthetic.Adj.ColIdx[0] = 6
		}, []string{"synthetic.safetensors: adj: indices[0] is 6"}},
		"x shape": {func(b *artifact.Bundle) {
			b.Synthetic.X = graph.NewDense(6, 4)
		}, []string{"synthetic.safetensors", "x", "6", "4", "5"}},
		"x infinite": {func(b *artifact.Bundle) {
			b.Synthetic.X.Data[7] = inf
		}, []string{"synthetic.safetensors: x: row 1, column 2 is +Inf"}},
		"y short": {func(b *artifact.Bundle) {
			b.Synthetic.Labels = b.Synthetic.Labels[1:]
		}, []string{"synthetic.safetensors", "y", "5", "6"}},
		"y class": {func(b *artifact.Bundle) {
			b.Synthetic.Labels[2] = 3
		}, []string{"synthetic.safetensors: y[2] is 3, outside 0…2"}},
		"y negative": {func(b *artifact.Bundle) {
			b.Synthetic.Labels[2] = -1
		}, []string{"synthetic.safetensors: y[2] is -1"}},
		"mean missing": {func(b *artifact.Bundle) {
			setPreprocess(b, preprocess.Parameters{Kind: preprocess.L2Center, Scale: 1})
		},
			[]string{"synthetic.safetensors", "mean"}},
		"mean of none": {func(b *artifact.Bundle) {
			setPreprocess(b, preprocess.Parameters{Kind: preprocess.None, Scale: 1, Mean: make([]float32, 5)})
		}, []string{"synthetic.safetensors", "mean"}},
		"mean NaN": {func(b *artifact.Bundle) {
			setPreprocess(b, preprocess.Parameters{Kind: preprocess.L2Center, Scale: 1, Mean: []float32{0, 0, 0, nan, 0}})
		}, []string{"synthetic.safetensors", "mean", "3"}},
		"std zero": {func(b *artifact.Bundle) {
			setPreprocess(b, preprocess.Parameters{Kind: preprocess.Standardize, Scale: 1, Mean: make([]float32, 5),
				Std: make([]float32, 5)})
		}, []string{"synthetic.safetensors", "std"}},
		"weight NaN": {func(b *artifact.Bundle) {
			b.Models[0].Params[0].Value.Data[4] = nan
		}, []string{sgc, `weight "lin.weight": row 1, column 1 is NaN`}},
		"weight missing": {func(b *artifact.Bundle) {
			b.Models[0].Params = b.Models[0].Params[:1]
		}, []string{sgc, "lin.bias"}},
		"weight unknown": {func(b *artifact.Bundle) { b.Models[0].Params[1].Name = "bias" }, []string{sgc, "lin.bias"}},
		"weight too wide": {func(b *artifact.Bundle) {
			b.Models[0].Params = infer.Model(newSGC(5, 4)).Params()
		}, []string{sgc, "5 features and 4 classes, the data have 5 and 3"}},
		"weight too long": {func(b *artifact.Bundle) {
			b.Models[0].Params = infer.Model(newSGC(6, 3)).Params()
		}, []string{sgc, "6 features and 3 classes, the data have 5 and 3"}},
		"tables missing": {func(b *artifact.Bundle) {
			b.Models[0].Tables = nil
		}, []string{sgc, `tensor "tables.u0" is missing`}},
		"table too few": {func(b *artifact.Bundle) {
			b.Models[0].Tables.U = b.Models[0].Tables.U[:1]
		}, []string{sgc, "1 tensors tables.u0, …, want 2"}},
		"table width": {func(b *artifact.Bundle) {
			b.Models[0].Tables.U[1] = graph.NewDense(6, 2)
		}, []string{sgc, "tables.u1", "6×2, want 6×3"}},
		"table rows": {func(b *artifact.Bundle) {
			b.Models[0].Tables.U[1] = graph.NewDense(5, 3)
		}, []string{sgc, "tables.u1"}},
		"table c missing": {func(b *artifact.Bundle) {
			b.Models[0].Tables.C = nil
		}, []string{sgc, `"tables.c": present is false, want true`}},
		"table c NaN": {func(b *artifact.Bundle) {
			b.Models[0].Tables.C.Data[5] = nan
		}, []string{sgc, "tables.c: value 5 is NaN"}},
		"lp with c": {func(b *artifact.Bundle) {
			b.Models[0].Propagations["lp"].C = graph.NewDense(6, 1)
		}, []string{sgc, `"lp.c": present is true, want false`}},
		"lp missing": {func(b *artifact.Bundle) {
			delete(b.Models[0].Propagations, "lp")
		}, []string{sgc, `tensor "lp.u0" is missing`}},
		"ep not chosen": {func(b *artifact.Bundle) {
			delete(b.Manifest.Models[0].Propagation, "ep")
		}, []string{sgc, `tensor "ep.u0" is there`}},
		"ep steps": {func(b *artifact.Bundle) {
			b.Models[0].Propagations["ep"].U = b.Models[0].Propagations["ep"].U[:9]
		}, []string{sgc, "9 tensors ep.u0, …, want 10"}},
		"M negative": {func(b *artifact.Bundle) {
			b.Mapping.Rows.Val[1] = -1
		}, []string{"mapping.safetensors: data[1] is -1"}},
		"M infinite": {func(b *artifact.Bundle) {
			b.Mapping.Rows.Val[1] = inf
		}, []string{"mapping.safetensors: data[1] is +Inf"}},
		"M descends": {func(b *artifact.Bundle) {
			b.Mapping.Rows = edges(20, 6)
			b.Mapping.Rows.ColIdx = []int32{2, 1}
			b.Mapping.Rows.Val = []float32{1, 1}
			fill(b.Mapping.Rows.RowPtr[5:], 2)
			b.Manifest.Mapping.Entries = 2
		}, []string{"mapping.safetensors: indices[1] is 1 after 2, want the columns of row 4 to ascend"}},
		"M column": {func(b *artifact.Bundle) {
			b.Mapping.Rows.ColIdx[0] = -1
		}, []string{"mapping.safetensors: indices[0] is -1"}},
		"M entries": {func(b *artifact.Bundle) {
			b.Manifest.Mapping.Entries++
		}, []string{"mapping.safetensors", "entries, the manifest says"}},
		"M over k": {func(b *artifact.Bundle) {
			b.Manifest.Mapping.MaxPerRow = 1
		}, []string{"mapping.safetensors: row", "the manifest says 1 at most"}},
		"id empty": {func(b *artifact.Bundle) {
			b.Mapping.IDs[3] = ""
		}, []string{"mapping.safetensors: ids[3] is empty"}},
		"id twice": {func(b *artifact.Bundle) {
			b.Mapping.IDs[3] = b.Mapping.IDs[1]
		}, []string{`mapping.safetensors: ids[3] is "node-1-é", as is ids[1]`}},
		"id not UTF-8": {func(b *artifact.Bundle) {
			b.Mapping.IDs[3] = "\xff"
		}, []string{`mapping.safetensors: ids[3] is "\xff", which is not UTF-8`}},
		"ids too few": {func(b *artifact.Bundle) {
			b.Mapping.IDs = b.Mapping.IDs[1:]
		}, []string{"mapping.safetensors", "ids"}},
		"rows not nodes": {func(b *artifact.Bundle) {
			b.Manifest.Mapping.Rows = 21
		}, []string{"manifest.json: mapping.rows is 21, want data.nodes, which is 20"}},
		"fewer S nodes": {func(b *artifact.Bundle) { b.Manifest.SyntheticNodes = 5 }, []string{".safetensors", "5"}},
		"no such model": {func(b *artifact.Bundle) {
			b.Manifest.Models[0].Name, b.Models[0].Name, b.Manifest.DefaultModel = "mlp", "mlp", "mlp"
		}, []string{"models/mlp.safetensors", `"mlp" is not known`}},
		"calibration absent": {func(b *artifact.Bundle) {
			b.Manifest.Models[0].Calibration.Kind = "pp"
		}, []string{`manifest.json: models[0].calibration.kind is "pp"`}},
		"version": {func(b *artifact.Bundle) {
			b.Manifest.Version = "a/b"
		}, []string{`manifest.json: version "a/b"`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := artifacttest.Bundle(1, artifacttest.Size{})
			tc.change(b)
			if err := b.Seal(); err == nil {
				t.Error("sealed")
			}
			files, err := artifact.EncodeUnchecked(b)
			if err == nil {
				_, err = artifact.DecodeAll(files)
			}
			wantError(t, err, tc.want...)
		})
	}
}

// What only a bundle in memory can be.
func TestInvalidInMemory(t *testing.T) {
	for want, change := range map[string]func(b *artifact.Bundle){
		"synthetic.safetensors: adj: no matrix, want 6×6": func(b *artifact.Bundle) { b.Synthetic.Adj = nil },
		"synthetic.safetensors: x: no matrix, want 6×5":   func(b *artifact.Bundle) { b.Synthetic.X = nil },
		"mapping.safetensors: no matrix, want 20×6":       func(b *artifact.Bundle) { b.Mapping.Rows = nil },
		"manifest.json: models has 1 entries for 0":       func(b *artifact.Bundle) { b.Models = nil },
		`model is "gcn", the manifest says "sgc"`:         func(b *artifact.Bundle) { b.Models[0].Name = "gcn" },
		`weight "lp.weight" has the name of a table`: func(b *artifact.Bundle) {
			b.Models[0].Params[0].Name = "lp.weight"
		},
		"tensor lin.weight has no values": func(b *artifact.Bundle) { b.Models[0].Params[0].Value = nil },
		`preprocess is "none" with scale 2, the manifest`: func(b *artifact.Bundle) {
			b.Preprocess = preprocess.Parameters{Kind: preprocess.None, Scale: 2}
		},
		`files does not list "mapping.safetensors"`: func(b *artifact.Bundle) { b.Mapping = nil },
		`models[1].name is "sgc", as is models[0].name`: func(b *artifact.Bundle) {
			b.Manifest.Models = append(b.Manifest.Models, b.Manifest.Models[0])
		},
	} {
		b := artifacttest.Bundle(1, artifacttest.Size{})
		change(b)
		wantError(t, b.Seal(), want)
	}
}

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func edges(r, c int, entries ...graph.Edge) *graph.CSR { return graph.NewCSR(r, c, entries) }

func fill(s []int, v int) {
	for k := range s {
		s[k] = v
	}
}

func newSGC(d, c int) infer.Model {
	m, err := infer.NewSGC(graph.NewDense(d, c), make([]float32, c))
	if err != nil {
		panic(err)
	}
	return m
}

func setPreprocess(b *artifact.Bundle, p preprocess.Parameters) {
	b.Preprocess = p
	b.Manifest.Preprocess = artifact.PreprocessInfo{Kind: p.Kind, Scale: p.Scale}
}
