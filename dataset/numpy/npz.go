package numpy

import (
	"archive/zip"
	"fmt"
	"io"
	"slices"
)

// deflateRatio is the largest factor by which deflate can expand: 258 bytes from 2 bits, less the block's overhead
// (zlib manual).
const deflateRatio = 1032

// Archive is an npz file: a zip of npy arrays.
type Archive struct {
	zip   *zip.Reader
	size  int64
	limit int64 // bytes of one array
}

// OpenArchive opens an npz file of size bytes; no array in it may take more than limit.
func OpenArchive(r io.ReaderAt, size, limit int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not an npz file: %w", err)
	}
	return &Archive{zip: z, size: size, limit: limit}, nil
}

// Read opens the named array, lets decode take its content and closes it. Errors name the array.
func (z *Archive) Read(name string, decode func(*Array) error) error {
	if err := z.readEntry(name+".npy", decode); err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return nil
}

// Has reports whether the named array exists.
func (z *Archive) Has(name string) bool {
	return slices.ContainsFunc(z.zip.File, func(f *zip.File) bool { return f.Name == name+".npy" })
}

func (z *Archive) readEntry(name string, decode func(*Array) error) error {
	var entry *zip.File
	for _, f := range z.zip.File {
		if f.Name != name {
			continue
		}
		if entry != nil {
			return fmt.Errorf("the zip has two entries %s", name)
		}
		entry = f
	}
	if entry == nil {
		return fmt.Errorf("the zip has no entry %s", name)
	}
	if err := z.believe(entry); err != nil {
		return err
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

// believeRows checks the number of rows that a CSC or COO matrix declares: unlike in a CSR matrix, no array has an
// element for each. It may have as many as a CSR matrix in a file of this size.
func (z *Archive) believeRows(n int) error {
	const indexBytes, rowBytes = 4, 8 // per element of indptr, stored and in memory
	if most := min(deflateRatio*z.size/indexBytes, z.limit/rowBytes); int64(n) > most {
		return fmt.Errorf("array shape: [0] is %d, more than the %d rows that a file of %d bytes can have", n, most, z.size)
	}
	return nil
}

// believe checks the sizes that a zip entry declares before anything is allocated for them.
func (z *Archive) believe(f *zip.File) error {
	packed, size := f.CompressedSize64, f.UncompressedSize64
	switch {
	case size > uint64(z.limit):
		return fmt.Errorf("zip entry of %d bytes, more than the allowed %d", size, z.limit)
	case packed > uint64(z.size):
		return fmt.Errorf("zip entry of %d compressed bytes in a file of %d", packed, z.size)
	case f.Method == zip.Store && packed != size:
		return fmt.Errorf("stored zip entry of %d bytes declares %d", packed, size)
	case f.Method != zip.Store && size > deflateRatio*packed:
		return fmt.Errorf("zip entry of %d compressed bytes cannot hold the declared %d", packed, size)
	}
	return nil
}
