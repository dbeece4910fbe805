// Package spill keeps records that need not fit into memory in numbered temporary files, so that later one file at a
// time is read again. A record goes to a file by the hash of a text ([Buckets.Of]), by a range of row numbers, or to
// the only file; the records of a file keep their order.
//
//	b := spill.New(dir, 64, nil)            // or spill.InMemory(64), with the same methods
//	err := b.Put(b.Of(id), r.Reset().Text(id).Number(7))
//	err = b.Each(k, func(r *spill.Record) error { id, n := r.NextText(), r.NextNumber(); … })
//	err = b.Close()                         // removes the files
//
// Two programs' worth of sorting rest on it: merging arrivals into tables (package trainer/merge), and writing the rows
// of a large M to Redis bucket by bucket (package mapping).
//
//	spill.go    the files
//	record.go   a record: numbers, texts and bytes, read in the order in which they were written
package spill

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Most is the largest useful number of files: each takes a descriptor and, while it is filled, a buffer of 16 KiB.
const Most = 512

const bufferBytes = 16 << 10

// Buckets are the files, or buffers in memory. They are used by one goroutine at a time.
type Buckets struct {
	dir     string
	fault   func(operation, path string) error
	files   []*os.File // nil until its first record
	writers []*bufio.Writer
	memory  []bytes.Buffer // in place of files
	records int64
}

// New returns n files of a directory of their own. Directory and files are made when the first record comes. fault may
// be nil; it is called before a file is created or written out, and its error becomes the operation's.
func New(dir string, n int, fault func(operation, path string) error) *Buckets {
	if fault == nil {
		fault = func(string, string) error { return nil }
	}
	return &Buckets{dir: dir, fault: fault, files: make([]*os.File, n), writers: make([]*bufio.Writer, n)}
}

// InMemory returns n buffers in memory in place of files.
func InMemory(n int) *Buckets { return &Buckets{memory: make([]bytes.Buffer, n)} }

// Len returns the number of files.
func (b *Buckets) Len() int { return max(len(b.files), len(b.memory)) }

// Records returns the number of records in all files.
func (b *Buckets) Records() int64 { return b.records }

// Of returns the file of a text, by its hash.
func (b *Buckets) Of(text string) int { return int(xxhash.Sum64String(text) % uint64(b.Len())) }

// Put appends a record to file k.
func (b *Buckets) Put(k int, r *Record) error {
	var length [binary.MaxVarintLen64]byte
	head := length[:binary.PutUvarint(length[:], uint64(len(r.bytes)))]
	b.records++
	if b.memory != nil {
		b.memory[k].Write(head)
		b.memory[k].Write(r.bytes)
		return nil
	}
	w, err := b.writer(k)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = w.Write(r.bytes)
	return err
}

// writer returns the writer of file k, which it creates if it is not there. Where a file without a name may stay open,
// a kill of the process leaves nothing behind; elsewhere Close removes it.
func (b *Buckets) writer(k int) (*bufio.Writer, error) {
	if b.files[k] != nil {
		return b.writers[k], nil
	}
	name := filepath.Join(b.dir, strconv.Itoa(k))
	if err := b.fault("create", name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(name)
	b.files[k], b.writers[k] = f, bufio.NewWriterSize(f, bufferBytes)
	return b.writers[k], nil
}

// Flush writes out the buffers of all files and frees them. Records may be put afterwards.
func (b *Buckets) Flush() error {
	for k := range b.files {
		if err := b.flush(k); err != nil {
			return err
		}
	}
	return nil
}

func (b *Buckets) flush(k int) error {
	if b.files[k] == nil {
		return nil
	}
	if err := b.fault("write", b.files[k].Name()); err != nil {
		return err
	}
	return b.writers[k].Flush()
}

// Size returns the bytes of file k.
func (b *Buckets) Size(k int) (int64, error) {
	if b.memory != nil {
		return int64(b.memory[k].Len()), nil
	}
	if err := b.flush(k); err != nil || b.files[k] == nil {
		return 0, err
	}
	return b.files[k].Seek(0, io.SeekEnd)
}

// Each calls use with each record of file k, in the order in which they were put. The record is valid until the next.
func (b *Buckets) Each(k int, use func(*Record) error) error {
	if b.memory != nil {
		return each(bufio.NewReader(bytes.NewReader(b.memory[k].Bytes())), use)
	}
	size, err := b.Size(k)
	if err != nil || b.files[k] == nil {
		return err
	}
	f := b.files[k]
	if err := each(bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 1<<16), use); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

// errChanged is the error of a file whose bytes have changed.
var errChanged = errors.New("a record has changed since it was written")

func each(in *bufio.Reader, use func(*Record) error) error {
	var r Record
	for {
		n, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.bytes = r.bytes[:0]; cap(r.bytes) < int(n) {
			r.bytes = make([]byte, 0, 2*n)
		}
		r.bytes, r.at = r.bytes[:n], 0
		if _, err := io.ReadFull(in, r.bytes); err != nil {
			return err
		}
		if err := use(&r); err != nil {
			return err
		}
		if r.short {
			return errChanged
		}
	}
}

// Close removes the files.
func (b *Buckets) Close() error {
	var err error
	for _, f := range b.files {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	b.files, b.writers, b.memory = nil, nil, nil
	if b.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}
