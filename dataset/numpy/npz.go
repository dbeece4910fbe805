package numpy

import (
	"archive/zip"
	"fmt"
	"io"
	"slices"
)

// Archive is an npz file: a zip of npy arrays.
type Archive struct {
	zip   *zip.Reader
	limit int64 // bytes of one array
}

// OpenArchive opens an npz file of size bytes; no array in it may take more than limit.
func OpenArchive(r io.ReaderAt, size, limit int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not an npz file: %w", err)
	}
	return &Archive{zip: z, limit: limit}, nil
}

// Read opens the named array, lets decode take its content and closes it. Errors name the array.
func (z *Archive) Read(name string, decode func(*Array) error) error {
	if err := z.readEntry(name+".npy", decode); err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return nil
}

func (z *Archive) readEntry(name string, decode func(*Array) error) error {
	k := slices.IndexFunc(z.zip.File, func(f *zip.File) bool { return f.Name == name })
	if k < 0 {
		return fmt.Errorf("the zip has no entry %s", name)
	}
	entry := z.zip.File[k]
	if size := entry.UncompressedSize64; size > uint64(z.limit) {
		return fmt.Errorf("zip entry of %d bytes, more than the allowed %d", size, z.limit)
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	a, err := OpenArray(content, int64(entry.UncompressedSize64))
	if err != nil {
		return err
	}
	return decode(a)
}
