//go:build chaos

package retry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"rivulet/test/expect"
)

// The clock of a build for test/chaos is ahead by what the file says, from soon after it is written.
func TestSteppedClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	t.Setenv(clockVariable, path)
	near := func(ahead time.Duration) bool {
		return (SystemClock{}).Now().Sub(time.Now().Add(ahead)).Abs() < time.Minute
	}
	if !near(0) {
		t.Error("the clock is stepped without a file")
	}
	for _, ahead := range []time.Duration{2 * time.Hour, -90 * time.Minute, 0} {
		expect.OK(t, os.WriteFile(path, []byte(ahead.String()), 0o600))
		for begin := time.Now(); !near(ahead); time.Sleep(5 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("the clock is not ahead by %v", ahead)
			}
		}
	}
}
