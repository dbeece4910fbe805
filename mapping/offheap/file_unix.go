//go:build unix

package offheap

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open maps a file of the given size into memory, to be read. It stays there as long as the process, because nobody
// knows which rows are still in use. The file must not become shorter meanwhile: reading what is gone ends the process.
func Open(f *os.File, size int) ([]byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	touch(data)
	return data, nil
}
