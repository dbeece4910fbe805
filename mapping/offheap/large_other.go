//go:build !linux

package offheap

// LargePages asks for large pages, which is done on Linux only.
func LargePages[T any]([]T) {}

func touch([]byte) {}
