package mapping

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// mostFiles is the largest useful number of files: each takes a descriptor and, while it is filled, a buffer.
const mostFiles = 512

const fileBuffer = 16 << 10

// rowFiles are numbered temporary files of rows, in the directory dir, which is theirs. A row is its bucket, its id and
// its encoding. A file is made when its first row comes, and its rows keep their order.
type rowFiles struct {
	dir     string
	files   []*os.File // nil until the first row
	writers []*bufio.Writer
}

func newRowFiles(dir string, n int) *rowFiles {
	return &rowFiles{dir: dir, files: make([]*os.File, n), writers: make([]*bufio.Writer, n)}
}

// put appends a row to file k.
func (f *rowFiles) put(k, bucket int, id string, row []byte) error {
	w, err := f.writer(k)
	if err != nil {
		return err
	}
	head := binary.AppendUvarint(make([]byte, 0, 3*binary.MaxVarintLen64), uint64(bucket))
	head = binary.AppendUvarint(binary.AppendUvarint(head, uint64(len(id))), uint64(len(row)))
	_, err = w.Write(head)
	_, errID := w.WriteString(id)
	_, errRow := w.Write(row)
	return errors.Join(err, errID, errRow)
}

// writer returns the writer of file k, which it creates if it is not there. Where a file without a name may stay open,
// a kill of the process leaves nothing behind; elsewhere close removes it.
func (f *rowFiles) writer(k int) (*bufio.Writer, error) {
	if f.files[k] != nil {
		return f.writers[k], nil
	}
	name := filepath.Join(f.dir, strconv.Itoa(k))
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(name)
	f.files[k], f.writers[k] = file, bufio.NewWriterSize(file, fileBuffer)
	return f.writers[k], nil
}

// flush writes out and frees the buffers of all files, to which nothing is put afterwards.
func (f *rowFiles) flush() error {
	for _, w := range f.writers {
		if w == nil {
			continue
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	f.writers = nil
	return nil
}

// size returns the bytes of file k.
func (f *rowFiles) size(k int) (int64, error) {
	if f.files[k] == nil {
		return 0, nil
	}
	return f.files[k].Seek(0, io.SeekEnd)
}

// each calls use with the rows of file k, in the order in which they were put. The encoding is valid until the next.
func (f *rowFiles) each(k int, use func(bucket int, id string, row []byte)) error {
	size, err := f.size(k)
	if err != nil || f.files[k] == nil {
		return err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f.files[k], 0, size), 1<<16)
	var text []byte
	for {
		bucket, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		ofID, errID := binary.ReadUvarint(in)
		ofRow, errRow := binary.ReadUvarint(in)
		if err = errors.Join(err, errID, errRow); err == nil && (ofID > uint64(size) || ofRow > uint64(size)) {
			err = errors.New("a row has changed since it was written")
		}
		if err == nil {
			text = append(text[:0], make([]byte, ofID+ofRow)...)
			_, err = io.ReadFull(in, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.files[k].Name(), err)
		}
		use(int(bucket), string(text[:ofID]), text[ofID:])
	}
}

// close removes the files.
func (f *rowFiles) close() error {
	var err error
	for _, file := range f.files {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}
