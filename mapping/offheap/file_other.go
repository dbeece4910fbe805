//go:build !unix

package offheap

import "os"

// Open reads a file of the given size into the heap, where files cannot be mapped.
func Open(f *os.File, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := f.ReadAt(data, 0)
	return data, err
}
