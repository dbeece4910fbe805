//go:build heap && unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// init makes SIGUSR1 collect garbage and print the bytes of the live heap to standard error. Only the builds for
// tools/browser, which watches heaps, have it.
func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Fprintf(os.Stderr, "heap %d\n", m.HeapAlloc)
		}
	}()
}
