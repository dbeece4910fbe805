package harness

import (
	"bytes"
	"sync"
)

// Transcript keeps a process's output. It may be read while the process runs.
type Transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds p.
func (t *Transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

// String returns the text so far.
func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
