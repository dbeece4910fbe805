//go:build !linux && !darwin

package cli

import "runtime"

// PeakBytes is what the Go runtime has obtained from the system, which it does not give back: no less than the peak of the
// heap.
func PeakBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
