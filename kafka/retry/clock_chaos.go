//go:build chaos

package retry

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// clockVariable names a file that holds how far the clock of this process is ahead of the machine's, as a duration.
// Only builds for test/chaos have it.
const clockVariable = "CHAOS_CLOCK"

// step is the offset that the file held, and when it was read.
type step struct {
	ahead time.Duration
	read  time.Time
}

var lastStep atomic.Pointer[step]

// now returns the machine's time plus the offset in the file, which is read again every 50 ms; a file that is not
// there or holds no duration is no offset.
func now() time.Time {
	t := time.Now()
	path := os.Getenv(clockVariable)
	if path == "" {
		return t
	}
	s := lastStep.Load()
	if s == nil || t.Sub(s.read) > 50*time.Millisecond {
		text, _ := os.ReadFile(path)
		ahead, _ := time.ParseDuration(strings.TrimSpace(string(text)))
		s = &step{ahead, t}
		lastStep.Store(s)
	}
	if s.ahead == 0 {
		return t
	}
	return t.Round(0).Add(s.ahead) // without the monotonic reading, as after a step of the machine's clock
}
