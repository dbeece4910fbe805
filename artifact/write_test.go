package artifact_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
)

// After a crash before any operation of a write, the directory is as it was before or holds the whole artifact, and
// nothing stands in the way of another write.
func TestWriteCrash(t *testing.T) {
	crash := errors.New("crash")
	for _, existing := range []bool{false, true} { // an empty directory may be taken
		wholes := 0
		for at := 1; ; at++ {
			parent := t.TempDir()
			dir := filepath.Join(parent, "a")
			if existing {
				expect.OK(t, os.Mkdir(dir, 0o777))
			}
			b := artifacttest.Bundle(1, artifacttest.Size{})
			seen := 0
			err := artifact.WriteFaulty(dir, b, func(operation, path string) error {
				if seen++; seen >= at { // nothing happens after a crash, no cleaning up either
					return crash
				}
				return nil
			})
			if err == nil {
				if at < 20 {
					t.Fatalf("a write of only %d operations", at)
				}
				break
			}
			if !errors.Is(err, crash) {
				t.Fatalf("crash at operation %d: %v", at, err)
			}
			if _, err := artifact.Read(dir); err == nil {
				wholes++ // the crash came after the rename
				continue
			}
			entries, err := os.ReadDir(dir)
			if len(entries) > 0 || (err != nil && !errors.Is(err, os.ErrNotExist)) {
				t.Fatalf("crash at operation %d left %d entries in the directory (%v)", at, len(entries), err)
			}
			if len(b.Manifest.Files) > 0 {
				t.Errorf("crash at operation %d: the bundle is sealed though nothing was written", at)
			}
			if at%6 != 0 { // writes sync, which takes its time
				continue
			}
			if err := artifact.Write(dir, b); err != nil {
				t.Fatalf("write after a crash at operation %d: %v", at, err)
			}
			if _, err := artifact.Read(dir); err != nil {
				t.Fatalf("read after a crash at operation %d and another write: %v", at, err)
			}
		}
		if wholes == 0 || wholes > 2 {
			t.Errorf("%d crashes left a whole artifact, want only those around the last sync", wholes)
		}
	}
}

// A failure that is no crash leaves nothing beside the directory.
func TestWriteFailureCleansUp(t *testing.T) {
	full := errors.New("no space left on device")
	parent := t.TempDir()
	for _, operation := range []string{"create", "write", "sync", "rename"} {
		err := artifact.WriteFaulty(filepath.Join(parent, "a"), artifacttest.Bundle(1, artifacttest.Size{}),
			func(op, path string) error {
				if op == operation {
					return fmt.Errorf("%s: %w", path, full)
				}
				return nil
			})
		if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "writing artifact "+parent) {
			t.Errorf("%s: error = %v, want the device's with what was being done", operation, err)
		}
		entries, err := os.ReadDir(parent)
		expect.OK(t, err)
		for _, entry := range entries {
			t.Errorf("%s failed and left %s", operation, entry.Name())
		}
	}
}

func TestWriteRefusesDirectoryInUse(t *testing.T) {
	dir := mustWrite(t, artifacttest.Bundle(1, artifacttest.Size{}))
	before := readAll(t, dir)
	for name, err := range map[string]error{
		"Write":       artifact.Write(dir, artifacttest.Bundle(2, artifacttest.Size{})),
		"CheckTarget": artifact.CheckTarget(dir),
	} {
		expect.Error(t, err, dir+" is not empty (it has manifest.json)", "%s", name)
	}
	if diff := cmp.Diff(before, readAll(t, dir)); diff != "" {
		t.Errorf("a refused write changed the directory:\n%s", diff)
	}
	if err := artifact.CheckTarget(filepath.Join(dir, "manifest.json")); err == nil {
		t.Error("CheckTarget accepted a file")
	}
	if err := artifact.CheckTarget(filepath.Join(dir, "new", "deep")); err != nil {
		t.Errorf("CheckTarget of a directory that does not exist: %v", err)
	}
}

// The directory is filled between the check and the rename.
func TestWriteRefusesDirectoryTakenMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	b := artifacttest.Bundle(1, artifacttest.Size{})
	taken := false
	err := artifact.WriteFaulty(dir, artifacttest.Bundle(2, artifacttest.Size{}), func(operation, path string) error {
		if operation == "write" && !taken {
			taken = true
			return artifact.Write(dir, b)
		}
		return nil
	})
	if err == nil {
		t.Fatal("two writes to one directory succeeded")
	}
	got, err := artifact.Read(dir)
	expect.OK(t, err)
	if got.Manifest.Seed != 1 {
		t.Errorf("the directory holds the artifact of seed %d, want that of the first write, 1", got.Manifest.Seed)
	}
}

func TestWriteMakesParents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x", "y", "a")
	expect.OK(t, artifact.Write(dir, artifacttest.Bundle(1, artifacttest.Size{})))
	if _, err := artifact.Read(dir); err != nil {
		t.Fatal(err)
	}
}

func TestNewVersion(t *testing.T) {
	created := time.Date(2026, 11, 21, 5, 35, 40, 999, time.FixedZone("CET", 3600))
	files := map[string][]byte{"a": []byte("1"), "b/c": []byte("2")}
	version := artifact.NewVersion(created, files)
	if version != "20261121T043540Z-dc8b00f9" {
		t.Errorf("version is %q", version)
	}
	if err := artifact.ValidVersion(version); err != nil {
		t.Error(err)
	}
	if later := artifact.NewVersion(created.Add(time.Second), files); later <= version {
		t.Errorf("%q, a second later, does not sort after %q", later, version)
	}
	for name, other := range map[string]map[string][]byte{
		"content":  {"a": []byte("1"), "b/c": []byte("3")},
		"name":     {"a": []byte("1"), "b/d": []byte("2")},
		"boundary": {"a": []byte("1b/c"), "": []byte("2")},
		"less":     {"a": []byte("1")},
		"manifest": {"a": []byte("1"), "b/c": []byte("2"), "manifest.json": []byte("{}")},
	} {
		if artifact.NewVersion(created, other) == version {
			t.Errorf("%s: other files give the same version", name)
		}
	}
}

// Two bundles of one second whose tensors are equal and whose manifests differ have names of their own: otherwise the
// second one could not be published beside the first.
func TestManifestsOfOneSecondHaveTheirOwnNames(t *testing.T) {
	first, second := artifacttest.Bundle(1, artifacttest.Size{}), artifacttest.Bundle(1, artifacttest.Size{})
	first.Manifest.Version, second.Manifest.Version = "", ""
	second.Manifest.Created = first.Manifest.Created.Truncate(time.Second).Add(time.Millisecond)
	for _, b := range []*artifact.Bundle{first, second} {
		expect.OK(t, artifact.Write(filepath.Join(t.TempDir(), "a"), b))
	}
	if first.Manifest.Version == second.Manifest.Version {
		t.Errorf("both are %s", first.Manifest.Version)
	}
}

func TestValidVersion(t *testing.T) {
	for _, good := range []string{"1", "v1.2_3-x", strings.Repeat("a", 64)} {
		if err := artifact.ValidVersion(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", strings.Repeat("a", 65), "a b", "a/b", "é", "a\n", "{a}", "a:b"} {
		if artifact.ValidVersion(bad) == nil {
			t.Errorf("version %q is valid", bad)
		}
	}
}
