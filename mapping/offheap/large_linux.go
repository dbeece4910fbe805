package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePage is the size of a large page on amd64 and, with pages of 4 KiB, on arm64.
const largePage = 2 << 20

// LargePages asks for large pages for a slice that nothing was written to yet. An M in memory is read at random: with
// millions of rows on pages of 4 KiB, the processor has to look up most pages' places in memory for each row. If the
// system has no large pages, only the time changes. The slice stays Go's own memory.
func LargePages[T any](s []T) {
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	size := uintptr(len(s)) * unsafe.Sizeof(*new(T))
	skip := (largePage - begin%largePage) % largePage
	if size < skip+largePage {
		return
	}
	inside := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), (size-skip)/largePage*largePage)
	_ = unix.Madvise(inside, unix.MADV_HUGEPAGE) // it is a wish
}

// touch has the system note the place of each page of a file, which are all in its memory by then, so that no lookup
// has to wait for that.
func touch(data []byte) { _ = unix.Madvise(data, unix.MADV_POPULATE_READ) } // Linux before 5.14 does not know it
