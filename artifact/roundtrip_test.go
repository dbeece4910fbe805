package artifact_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

func mustWrite(t *testing.T, b *artifact.Bundle) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a")
	expect.OK(t, artifact.Write(dir, b))
	return dir
}

// roundTrip writes a bundle, and returns what is read of its directory, the files of the serving part, which have the
// bytes of the directory, and what is decoded of these.
func roundTrip(t *testing.T, b *artifact.Bundle) (read *artifact.Bundle, files map[string][]byte,
	served *artifact.Bundle) {
	t.Helper()
	dir := mustWrite(t, b)
	read, err := artifact.Read(dir)
	expect.OK(t, err)
	if files, err = artifact.EncodeServing(read); err != nil {
		t.Fatal(err)
	}
	for name, onDisk := range readAll(t, dir) {
		if of, there := files[name]; there && !bytes.Equal(of, onDisk) {
			t.Errorf("%s of the serving part has other bytes than the directory", name)
		}
	}
	if served, err = artifact.DecodeServing(files); err != nil {
		t.Fatal(err)
	}
	return read, files, served
}

// wantDecodeError encodes a bundle without checks, and compares the error of decoding it.
func wantDecodeError(t *testing.T, b *artifact.Bundle, texts ...string) {
	t.Helper()
	files, err := artifact.EncodeUnchecked(b)
	expect.OK(t, err)
	_, err = artifact.DecodeAll(files)
	wantError(t, err, texts...)
}

// readAll returns the files below a directory by name.
func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	expect.OK(t, err)
	return files
}

func TestWriteRead(t *testing.T) {
	for seed := range uint64(3) { // preprocessing of each kind
		b := artifacttest.Bundle(seed, artifacttest.Size{})
		dir := t.TempDir() // an empty directory may be taken
		expect.OK(t, artifact.Write(dir, b))
		got, err := artifact.Read(dir)
		expect.OK(t, err)
		if diff := cmp.Diff(b, got); diff != "" {
			t.Errorf("read differs from written (-written +read):\n%s", diff)
		}
	}
}

func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := artifacttest.Bundle(rapid.Uint64().Draw(t, "seed"), artifacttest.Size{
			Nodes:     rapid.IntRange(1, 30).Draw(t, "N"),
			Synthetic: rapid.IntRange(1, 9).Draw(t, "N'"),
			Features:  rapid.IntRange(1, 7).Draw(t, "d"),
			Classes:   rapid.IntRange(1, 4).Draw(t, "C"),
		})
		expect.OK(t, b.Seal())
		files, err := artifact.EncodeAll(b)
		expect.OK(t, err)
		got, err := artifact.DecodeAll(files)
		expect.OK(t, err)
		if diff := cmp.Diff(b, got); diff != "" {
			t.Fatalf("decoded differs from encoded (-encoded +decoded):\n%s", diff)
		}

		serving, err := artifact.EncodeServing(got)
		expect.OK(t, err)
		delete(files, "mapping.safetensors")
		if !maps.EqualFunc(files, serving, bytes.Equal) {
			t.Fatalf("the serving part differs from the artifact's files:\n%s", cmp.Diff(files, serving))
		}
		part, err := artifact.DecodeServing(serving)
		expect.OK(t, err)
		want := *got
		want.Mapping = nil
		if diff := cmp.Diff(&want, part); diff != "" {
			t.Fatalf("the serving part differs from the artifact (-artifact +part):\n%s", diff)
		}
		again, err := artifact.EncodeServing(part)
		expect.OK(t, err)
		if !maps.EqualFunc(serving, again, bytes.Equal) {
			t.Fatalf("the serving part encodes differently without M:\n%s", cmp.Diff(serving, again))
		}
	})
}

func TestWriteFiles(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{})
	files := readAll(t, mustWrite(t, b))
	want := []string{"manifest.json", "manifest.sha256", "mapping.safetensors", "models/sgc.safetensors",
		"synthetic.safetensors"}
	expect.Same(t, want, slices.Sorted(maps.Keys(files)), "files differ")
	if b.Manifest.FormatVersion != 1 || len(b.Manifest.Files) != 3 {
		t.Errorf("Write left format version %d and %d files in the bundle's manifest", b.Manifest.FormatVersion,
			len(b.Manifest.Files))
	}
	if !strings.HasPrefix(b.Manifest.Version, "20261121T053540Z-") {
		t.Errorf("version is %q, want one of the time of creation", b.Manifest.Version)
	}
}

func TestWriteKeepsVersion(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{})
	b.Manifest.Version = "my-version_1.0"
	got, err := artifact.Read(mustWrite(t, b))
	expect.OK(t, err)
	if got.Manifest.Version != "my-version_1.0" {
		t.Errorf("version is %q", got.Manifest.Version)
	}
}

// One file for one content: what is written does not depend on the run.
func TestWriteIsDeterministic(t *testing.T) {
	first := readAll(t, mustWrite(t, artifacttest.Bundle(7, artifacttest.Size{})))
	second := readAll(t, mustWrite(t, artifacttest.Bundle(7, artifacttest.Size{})))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two writes differ:\n%s", diff)
	}
}

// A matrix without values is one of ones, and is written as such.
func TestWriteOnes(t *testing.T) {
	b := artifacttest.Bundle(3, artifacttest.Size{})
	b.Mapping.Rows.Val, b.Synthetic.Adj.Val = nil, nil
	got, err := artifact.Read(mustWrite(t, b))
	expect.OK(t, err)
	for name, m := range map[string]*graph.CSR{"mapping": got.Mapping.Rows, "adj": got.Synthetic.Adj} {
		if len(m.Val) != m.NNZ() {
			t.Fatalf("%s has %d values for %d entries", name, len(m.Val), m.NNZ())
		}
		if m.DropOnes(); m.Val != nil {
			t.Errorf("%s has other values than 1", name)
		}
	}
}

// What was read serves: the deployed model answers as the one that was written, bit for bit.
func TestReadServes(t *testing.T) {
	written := artifacttest.Bundle(11, artifacttest.Size{})
	read, err := artifact.Read(mustWrite(t, artifacttest.Bundle(11, artifacttest.Size{})))
	expect.OK(t, err)
	logits := func(b *artifact.Bundle) *graph.Dense {
		model, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
		expect.OK(t, err)
		cols, vals := b.Mapping.Rows.Row(1)
		r, known := attach.Attach([][]attach.Row{{{Known: true, Cols: cols, Vals: vals}}}, b.Manifest.SyntheticNodes)
		x := &graph.Dense{Rows: 1, Cols: 5, Data: []float32{1, 0, 2, 0, 3}}
		return model.Frozen(b.Models[0].Tables, &b.Preprocess).Logits(&attach.Batch{X: graph.Features{Dense: x}, R: r,
			Known: known})
	}
	if diff := cmp.Diff(logits(written), logits(read)); diff != "" {
		t.Errorf("logits differ (-written +read):\n%s", diff)
	}
}

func TestSeal(t *testing.T) {
	b := artifacttest.Bundle(5, artifacttest.Size{})
	expect.Error(t, expect.ErrorOf(artifact.EncodeServing(b)),
		"not sealed", "EncodeServing of a bundle that is not sealed")
	expect.OK(t, b.Seal())
	sealed := b.Manifest
	files := readAll(t, mustWrite(t, b))
	if diff := cmp.Diff(sealed, b.Manifest); diff != "" {
		t.Errorf("Write changed the manifest of a sealed bundle (-sealed +written):\n%s", diff)
	}
	serving, err := artifact.EncodeServing(b)
	expect.OK(t, err)
	if !bytes.Equal(serving["manifest.json"], files["manifest.json"]) {
		t.Error("the manifest of the serving part differs from the directory's")
	}
}

func BenchmarkRead(b *testing.B) {
	bundle := artifacttest.Bundle(1, artifacttest.Size{Nodes: 44_625, Synthetic: 446, Features: 500, Classes: 7})
	dir := filepath.Join(b.TempDir(), "a")
	expect.OK(b, artifact.Write(dir, bundle))
	bytes := 0.0
	for _, f := range bundle.Manifest.Files {
		bytes += float64(f.Bytes)
	}
	for b.Loop() {
		if _, err := artifact.Read(dir); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(bytes*float64(b.N)/b.Elapsed().Seconds()/1e6, "MB/s")
	b.ReportMetric(float64(bundle.Manifest.Files["mapping.safetensors"].Bytes)/44_625, "B/row")
}
