//go:build linux || darwin

package bench

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that the process has used, its own and the system's for it.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
