package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rivulet/test/expect"
)

// places returns a file with a text in it, and a directory that nobody can write to, "" where there is none: root may
// write to any but the kernel's own.
func places(t *testing.T) (file, closed string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "file")
	expect.OK(t, os.WriteFile(file, []byte("kept"), 0o600))
	if info, err := os.Stat("/proc/self"); err == nil && info.IsDir() {
		closed = "/proc"
	}
	return file, closed
}

func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(want) {
		t.Errorf("%s holds %v (%v), want %q", dir, entries, err, want)
	}
}

func TestTryDirectory(t *testing.T) {
	file, closed := places(t)
	empty := t.TempDir()
	for _, dir := range []string{"", empty, filepath.Join(empty, "a", "b")} {
		if err := errors.Join(TryDirectory("out", dir), TryBeside("out", dir)); err != nil {
			t.Errorf("%q: %v", dir, err)
		}
	}
	holds(t, empty)
	bad := []string{file, filepath.Join(file, "below")}
	if closed != "" {
		bad = append(bad, closed+"/nowhere/artifact")
	}
	for _, dir := range bad {
		if err := TryDirectory("out", dir); err == nil || !strings.HasPrefix(err.Error(), "--out is "+dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for dir, ok := range map[string]bool{file: true, filepath.Join(file, "artifact"): false} {
		if err := TryBeside("out", dir); (err == nil) != ok {
			t.Errorf("beside %s: %v", dir, err)
		}
	}
}

func TestTryFile(t *testing.T) {
	file, closed := places(t)
	fresh := filepath.Join(t.TempDir(), "new")
	for _, name := range []string{"", file, fresh} {
		if err := TryFile("csv", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	holds(t, filepath.Dir(fresh))
	if text, err := os.ReadFile(file); string(text) != "kept" {
		t.Errorf("the file that was there is %q (%v)", text, err)
	}
	bad := []string{filepath.Dir(file), filepath.Join(file, "below"), filepath.Join(fresh, "below")}
	if closed != "" {
		bad = append(bad, closed+"/nothing")
	}
	for _, name := range bad {
		if err := TryFile("csv", name); err == nil || !strings.HasPrefix(err.Error(), "--csv cannot be written: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A FIFO is refused without being opened, which would wait for a reader.
func TestTryFileRefusesFIFOs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	expect.OK(t, syscall.Mkfifo(name, 0o600))
	expect.Error(t, TryFile("csv", name), "--csv cannot be written", "no file that can be written to")
	expect.OK(t, TryFile("csv", os.DevNull))
}
