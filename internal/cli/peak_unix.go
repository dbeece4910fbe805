//go:build linux || darwin

package cli

import (
	"runtime"
	"syscall"
)

// PeakBytes returns the largest resident memory that the process has had.
func PeakBytes() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // bytes there, kilobytes on Linux
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) * 1024
}
