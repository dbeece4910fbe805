//go:build unix

package artifact_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/test/expect"
)

// A file of another kind is refused at once: opening a FIFO would wait until somebody writes.
func TestRefusesWhatIsNoRegularFile(t *testing.T) {
	for _, name := range []string{"manifest.json", "synthetic.safetensors"} {
		dir := filepath.Join(t.TempDir(), "artifact")
		expect.OK(t, artifact.Write(dir, artifacttest.Bundle(1, artifacttest.Size{})))
		path := filepath.Join(dir, name)
		expect.OK(t, errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)))
		expect.Error(t, expect.ErrorOf(artifact.Read(dir)), "is no regular file", "%s", name)
	}
}
