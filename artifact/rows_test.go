package artifact_test

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
)

// smallParts makes parts of n rows for a test.
func smallParts(t *testing.T, n int) { t.Cleanup(artifact.SmallParts(n)) }

// gathered are the rows of a bundle's pieces.
func gathered(t *testing.T, b *artifact.Bundle) *artifact.Mapping {
	t.Helper()
	m, err := artifact.Join(b.Pieces(), b.Manifest.Mapping, b.Manifest.SyntheticNodes)
	expect.OK(t, err)
	return m
}

// inPieces gives rows lo, lo+size, … of m, as an engine would.
func inPieces(m *artifact.Mapping, size int) iter.Seq2[*artifact.Mapping, error] {
	return func(yield func(*artifact.Mapping, error) bool) {
		for lo := 0; lo < len(m.IDs); lo += size {
			if !yield(artifact.Rows(m, lo, min(len(m.IDs), lo+size)), nil) {
				return
			}
		}
	}
}

// An M of more rows than a part is written in parts of that many rows, with the same rows in the same order,
// whether it comes from memory or in pieces of any size.
func TestMappingInParts(t *testing.T) {
	whole := artifacttest.Bundle(3, artifacttest.Size{Nodes: 50})
	smallParts(t, 16)
	dir := mustWrite(t, whole)
	if names := partNames(t, dir); len(names) != 4 {
		t.Fatalf("parts are %q, want 4", names)
	}
	want := readAll(t, dir)
	for _, size := range []int{1, 7, 16, 17, 50} {
		b := artifacttest.Bundle(3, artifacttest.Size{Nodes: 50})
		b.Parts, b.Mapping = inPieces(b.Mapping, size), nil
		if diff := cmp.Diff(want, readAll(t, mustWrite(t, b))); diff != "" {
			t.Errorf("pieces of %d rows make another artifact: %s", size, diff)
		}
	}
	got, err := artifact.Read(dir)
	expect.OK(t, err)
	if m := got.Manifest; m.FormatVersion != 2 || !slices.Equal(m.Requires, []string{"mapping/00000.safetensors"}) {
		t.Errorf("format %d requires %q", m.FormatVersion, m.Requires)
	}
	if got.Mapping != nil || got.Parts == nil {
		t.Fatal("Read has all of M in memory")
	}
	if diff := cmp.Diff(whole.Mapping, gathered(t, got)); diff != "" {
		t.Errorf("M is another: %s", diff)
	}
	all, err := artifact.ReadAll(dir)
	expect.OK(t, err)
	if diff := cmp.Diff(whole.Mapping, all.Mapping); diff != "" {
		t.Errorf("M is another in memory: %s", diff)
	}
	for _, again := range []*artifact.Bundle{got, all} { // as trainer import does
		if diff := cmp.Diff(want, readAll(t, mustWrite(t, again))); diff != "" {
			t.Errorf("written again it is another artifact: %s", diff)
		}
	}
}

// The serving part is the same whether M is in memory or in files, and has none of it.
func TestServingPartOfMappingInParts(t *testing.T) {
	smallParts(t, 16)
	dir := mustWrite(t, artifacttest.Bundle(3, artifacttest.Size{Nodes: 50}))
	stored := readAll(t, dir)
	for name, read := range map[string]func(string) (*artifact.Bundle, error){
		"Read": artifact.Read, "ReadAll": artifact.ReadAll,
	} {
		b, err := read(dir)
		expect.OK(t, err)
		files, err := artifact.EncodeServing(b)
		expect.OK(t, err)
		for file, data := range files {
			if strings.HasPrefix(file, "mapping") || !bytes.Equal(data, stored[file]) {
				t.Errorf("%s: %s is in the serving part, or another", name, file)
			}
		}
		served, err := artifact.DecodeServing(files)
		expect.OK(t, err)
		again, err := artifact.EncodeServing(served)
		expect.OK(t, err)
		if diff := cmp.Diff(files, again); diff != "" {
			t.Errorf("%s: encoded again the serving part is another: %s", name, diff)
		}
	}
}

// A part that is torn, changed, missing or not the index's is refused by name, also if it changes after Read.
func TestPartsOfMappingRefused(t *testing.T) {
	smallParts(t, 16)
	const second = "mapping/00001.safetensors"
	for name, tc := range map[string]struct {
		change func(t *testing.T, path string)
		want   string
	}{
		"missing": {func(t *testing.T, path string) { check(t, os.Remove(path)) },
			second + ": missing, the manifest lists it"},
		"torn": {func(t *testing.T, path string) { check(t, os.Truncate(path, 100)) },
			second + ": 100 bytes, the manifest says"},
		"changed": {func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			check(t, err)
			data[len(data)-1] ^= 1
			check(t, os.WriteFile(path, data, 0o600))
		}, second + ": SHA-256 is"},
		"more": {func(t *testing.T, path string) {
			check(t, os.WriteFile(filepath.Join(filepath.Dir(path), "00009.safetensors"), nil, 0o600))
		}, "mapping/00009.safetensors: the manifest does not list it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mustWrite(t, artifacttest.Bundle(3, artifacttest.Size{Nodes: 50}))
			before, err := artifact.Read(dir)
			check(t, err)
			tc.change(t, filepath.Join(dir, filepath.FromSlash(second)))
			_, err = artifact.Read(dir)
			wantError(t, err, tc.want)
			if name != "more" {
				wantError(t, before.LoadMapping(), tc.want)
			}
		})
	}
}

// What is wrong with rows is said before an artifact is there.
func TestPiecesRefused(t *testing.T) {
	smallParts(t, 16)
	errRead := errors.New("the engine's disk is gone")
	for name, tc := range map[string]struct {
		change func(b *artifact.Bundle)
		want   string
	}{
		"fewer rows": {func(b *artifact.Bundle) { b.Parts = inPieces(artifact.Rows(b.Mapping, 0, 49), 10) },
			"M has 49 rows"},
		"twice": {func(b *artifact.Bundle) {
			b.Mapping.IDs[17] = b.Mapping.IDs[18]
			b.Parts = inPieces(b.Mapping, 10)
		}, "rows of M from 16 on: ids[2] is"},
		"column": {func(b *artifact.Bundle) { b.Mapping.Rows.ColIdx[0] = 99; b.Parts = inPieces(b.Mapping, 10) },
			"rows of M from 0 on: "},
		"source": {func(b *artifact.Bundle) {
			b.Parts = func(yield func(*artifact.Mapping, error) bool) { yield(nil, errRead) }
		}, errRead.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			b := artifacttest.Bundle(3, artifacttest.Size{Nodes: 50})
			tc.change(b)
			b.Mapping = nil
			dir := filepath.Join(t.TempDir(), "artifact")
			wantError(t, artifact.Write(dir, b), tc.want)
			if _, err := os.Stat(dir); err == nil {
				t.Error("something was left in its place")
			}
		})
	}
}

// An id in two parts is found by readers of all of M.
func TestIDInTwoParts(t *testing.T) {
	smallParts(t, 16)
	b := artifacttest.Bundle(3, artifacttest.Size{Nodes: 50})
	b.Mapping.IDs[40] = b.Mapping.IDs[3]
	b.Parts, b.Mapping = inPieces(b.Mapping, 10), nil
	got, err := artifact.Read(mustWrite(t, b))
	check(t, err)
	wantError(t, got.LoadMapping(), `ids[40] is "node-3-é", as is ids[3]`)
}

func partNames(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "mapping", "*"))
	check(t, err)
	return names
}

func check(t *testing.T, err error) {
	t.Helper()
	expect.OK(t, err)
}
