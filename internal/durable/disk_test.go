package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rivulet/test/expect"
)

// A file is synced before it gets its name, and a directory after it has a new entry.
func TestOrderOfOperations(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var did []string
	d := Disk{Fault: func(operation, path string) error {
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if ext := filepath.Ext(name); len(ext) > 5 { // the temporary name's number
			name = name[:len(name)-len(ext)] + ".*"
		}
		did = append(did, operation+" "+name)
		return nil
	}}
	dir := filepath.Join(root, "a", "b")
	if err := errors.Join(d.MkdirAll(dir), d.WriteFile(dir, "f", hello), d.SyncDir(dir),
		d.Rename(dir, filepath.Join(root, "a", "c")),
		d.RemoveAll(filepath.Join(root, "a", "c"))); err != nil {
		t.Fatal(err)
	}
	want := []string{"mkdir a", "sync .", "mkdir a/b", "sync a", "create a/b/f", "write a/b/f.*", "sync a/b/f.*",
		"rename a/b/f", "sync a/b",
		"rename a/c", "sync a", "remove a/c"}
	expect.Same(t, want, did, "operations")
	if left, err := os.ReadDir(filepath.Join(root, "a")); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func hello(w io.Writer) error {
	_, err := io.WriteString(w, "hello")
	return err
}

// A write that fails at any operation leaves the file of before, or none, and no temporary one.
func TestAFileIsWholeOrMissing(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for _, at := range []string{"create", "write", "sync", "rename"} {
		dir := t.TempDir()
		d := Disk{Fault: func(operation, _ string) error {
			if operation == at {
				return full
			}
			return nil
		}}
		if err := d.WriteFile(dir, "f", hello); !errors.Is(err, full) || err.Error() != "f: disk full" {
			t.Errorf("at %s: error %v", at, err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() != "f" }) || len(left) != 0 {
			t.Errorf("at %s: left %v %v", at, left, err)
		}
	}
}
