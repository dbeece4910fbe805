//go:build !linux

package mapping

// largePages asks for large pages, which is done on Linux only.
func largePages[T any]([]T) {}
