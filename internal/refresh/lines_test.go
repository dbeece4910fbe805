package refresh

import (
	"os"
	"path/filepath"
	"testing"

	"rivulet/test/expect"
)

// A line without an end is an error that names file, line and limit.
func TestALineWithoutAnEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "arrivals.jsonl")
	expect.OK(t, os.WriteFile(file, []byte("one\n\n"), 0o600))
	expect.OK(t, os.Truncate(file, maxLine+10)) // zeros follow
	taken := 0
	err := eachLine(t.Context(), file, func([]byte) error { taken++; return nil })
	expect.Error(t, err, "arrivals.jsonl: line 3 has 67108864 bytes or more")
	expect.Same(t, 1, taken, "lines")
}
