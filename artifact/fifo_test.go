//go:build unix

package artifact_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
		if _, err := artifact.Read(dir); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
