//go:build !linux && !darwin

package cli

import "runtime"

// PeakBytes returns the memory that the Go runtime has obtained from the system. It does not give any back, so this
// is no less than the peak of the heap.
func PeakBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
