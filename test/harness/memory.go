package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ResetPeak forgets the peak of a process' resident memory, and returns its present size in bytes. It needs Linux.
func ResetPeak(id int) (now int64, err error) {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", id), []byte("5"), 0o600); err != nil {
		return 0, err
	}
	return memoryOf(id, "VmRSS")
}

// PeakMemory returns the peak of a process' resident memory since ResetPeak, in bytes.
func PeakMemory(id int) (int64, error) { return memoryOf(id, "VmHWM") }

func memoryOf(id int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s", id, name)
}
