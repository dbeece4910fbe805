//go:build linux || darwin

package bench

import (
	"fmt"
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

// outside returns n bytes outside of Go's heap, and a function that frees them.
func outside(n int) ([]byte, func(), error) {
	bytes, err := syscall.Mmap(-1, 0, max(n, 1), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("%d bytes of memory: %w", n, err)
	}
	return bytes[:n], func() { _ = syscall.Munmap(bytes) }, nil
}
