//go:build heap && unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// init has SIGUSR1 collect garbage and print the bytes of the heap that live on to standard error. Only the builds by
// which tools/browser watches heaps have it.
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
