package mapping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/gofrs/flock"

	"rivulet/artifact"
	"rivulet/internal/durable"
	"rivulet/mapping/offheap"
)

// fileHead begins a file of M, which goes on with the buckets and the words of an index as they are in memory, in the
// byte order of the machine: a machine of another order reads another form.
type fileHead struct {
	form    uint64 // fileForm
	sum     uint64 // XXH64 of all that follows
	content uint64 // XXH64 of the M's content
	ids     uint64
	buckets uint64
	words   uint64
	ones    uint64 // entries of the longest row if M has no values; else 0
	bytes   uint64
}

// fileForm is the form of files that this build writes and reads. Another form has another number.
const fileForm = 0x52766c4d_00000001

// errOtherFile is part of the error about a file that is not what it should be.
var errOtherFile = errors.New("it was changed, cut off, or written by another build or machine")

// fileOf returns the name of the file of an M, by its content.
func fileOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:16]) + ".rows"
}

// FromFile returns a lookup of an M that is in a file of a directory, mapped into memory. Processes of a machine share
// it, and only the first one has M in its heap, to write the file. A file that was damaged is written again. content
// names M ([artifact.Manifest.MappingContent]), and read returns the artifact. Nobody may change a file where it
// stands, or cut it off: that would end the processes that read it. It may be removed at any time.
func FromFile(ctx context.Context, dir, content string, read func() (*artifact.Bundle, error),
	log *slog.Logger) (*Memory, error) {
	path := filepath.Join(dir, fileOf(content))
	x, err := openIndex(path, content)
	if err != nil {
		if x, err = makeIndex(ctx, path, content, read, log); err != nil {
			return nil, fmt.Errorf("M as a file: %w", err)
		}
	}
	return &Memory{index: x}, nil
}

// lockPause is the time that a process waits before it looks again whether another one has written the file.
const lockPause = 100 * time.Millisecond

// makeIndex writes the file of an M and opens it. One process at a time does, and the others find the file.
func makeIndex(ctx context.Context, path, content string, read func() (*artifact.Bundle, error),
	log *slog.Logger) (*index, error) {
	dir, name := filepath.Split(path)
	if err := (durable.Disk{}).MkdirAll(filepath.Clean(dir)); err != nil {
		return nil, err
	}
	lock := flock.New(path + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		return nil, err
	}
	defer func() { _ = lock.Unlock() }()
	x, err := openIndex(path, content)
	if err == nil {
		return x, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the file of M cannot be used: it is written again", "file", path, "reason", err)
	}
	begun := time.Now()
	b, err := read()
	if err != nil {
		return nil, err
	}
	if x, err = indexOf(b.Pieces()); err != nil {
		return nil, err
	}
	if err := (durable.Disk{}).WriteFile(dir, name, func(w io.Writer) error { return x.write(w, content) }); err != nil {
		return nil, err
	}
	log.Info("M was written to a file, which processes of this machine share", "file", path, "rows", x.ids,
		"took", time.Since(begun).Round(time.Millisecond))
	return openIndex(path, content)
}

// write writes an index as a file of M.
func (x *index) write(w io.Writer, content string) error {
	head := fileHead{form: fileForm, content: xxhash.Sum64String(content), ids: uint64(x.ids),
		buckets: uint64(len(x.buckets)), words: uint64(len(x.rows.Words)), ones: uint64(len(x.rows.Ones)),
		bytes: uint64(x.bytes)}
	buckets, words := bytesOf(x.buckets), bytesOf(x.rows.Words)
	sum := xxhash.New()
	for _, part := range [][]byte{head.summed(), buckets, words} {
		_, _ = sum.Write(part) // it never fails
	}
	head.sum = sum.Sum64()
	for _, part := range [][]byte{head.all(), buckets, words} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// openIndex maps the file of an M into memory, after its size and its checksum have been compared.
func openIndex(path, content string) (*index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var head fileHead
	if _, err := io.ReadFull(f, head.all()); err != nil {
		return nil, fmt.Errorf("%s: %w (%w)", path, errOtherFile, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size, known := head.size()
	if !known || head.content != xxhash.Sum64String(content) || uint64(info.Size()) != size {
		return nil, fmt.Errorf("%s: %w", path, errOtherFile)
	}
	sum := xxhash.New()
	_, _ = sum.Write(head.summed()) // it never fails
	if _, err := io.Copy(sum, io.LimitReader(f, int64(size))); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if is := sum.Sum64(); is != head.sum {
		return nil, fmt.Errorf("%s: %w: its checksum is %016x, it says %016x", path, errOtherFile, is, head.sum)
	}
	data, err := offheap.Open(f, int(size))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return head.index(data), nil
}

// size returns the size of a file, and whether it is one that this build reads.
func (h *fileHead) size() (bytes uint64, known bool) {
	const most = 1 << 36 // 64 GiB of words, and of buckets
	if h.form != fileForm || h.buckets == 0 || h.buckets > most || h.words == 0 || h.words > most {
		return 0, false
	}
	return uint64(unsafe.Sizeof(*h)) + h.buckets*uint64(unsafe.Sizeof(bucket{})) + h.words*4, true
}

// index returns the index in the bytes of a file.
func (h *fileHead) index(data []byte) *index {
	x := &index{ids: int(h.ids), bytes: int64(h.bytes)}
	at := unsafe.Pointer(&data[unsafe.Sizeof(*h)])
	x.buckets = unsafe.Slice((*bucket)(at), h.buckets)
	x.rows.Words = unsafe.Slice((*uint32)(unsafe.Add(at, h.buckets*uint64(unsafe.Sizeof(bucket{})))), h.words)
	if h.ones > 0 {
		x.rows.Ones = slices.Repeat([]float32{1}, int(h.ones))
	}
	return x
}

// all returns the bytes of a head, and summed those that its checksum covers.
func (h *fileHead) all() []byte    { return bytesOf(unsafe.Slice(h, 1)) }
func (h *fileHead) summed() []byte { return h.all()[unsafe.Offsetof(h.content):] }

// bytesOf returns the memory of a slice without pointers.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}
