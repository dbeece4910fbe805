//go:build !linux && !darwin

package bench

import (
	"runtime/metrics"
	"time"
)

// cpuTime returns the CPU time that the Go runtime knows of. It is brought up to date by garbage
// collections only.
func cpuTime() time.Duration {
	sample := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}

// outside returns n bytes, here of Go's heap, and a function that frees them.
func outside(n int) ([]byte, func(), error) { return make([]byte, n), func() {}, nil }
