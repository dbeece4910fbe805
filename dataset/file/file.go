// Package file opens the files of a data set within bounds. If a file holds no data, its error says what the file is
// instead.
package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MaxBytes bounds one array and one file of a table. The largest public set in GraphSAINT's layout, Reddit with dense
// float64 features, has 1.2 GB.
const MaxBytes = 4 << 30

// Read opens a file of the data set, refuses one beyond limit bytes, and names it in every error.
func Read(dir, name string, limit int64, decode func(f *os.File, size int64) error) error {
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return fmt.Errorf("%s: not a regular file", name) // opening it would wait for a writer
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file", name)
	case info.Size() > limit:
		return fmt.Errorf("%s: %d bytes, more than the allowed %d", name, info.Size(), limit)
	}
	if err := stranger(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := decode(f, info.Size()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// stranger returns an error for a file that stands in the place of the data: the page of a website that a download
// ended at, or the pointer that Git LFS leaves where a file was not fetched.
func stranger(f io.ReaderAt) error {
	var head [512]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	text := strings.ToLower(string(bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")))
	switch {
	case strings.HasPrefix(text, "version https://git-lfs.github.com/"):
		return errors.New("it is a Git LFS pointer in place of the file: fetch the file with  git lfs pull")
	case strings.HasPrefix(text, "<!doctype html"), strings.HasPrefix(text, "<html"):
		return errors.New("it is a web page (HTML) in place of the data: a download ended at a page for people")
	case strings.HasPrefix(text, "<?xml"):
		return errors.New("it is XML in place of the data, such as the error message of a store: download the file again")
	}
	return nil
}

// Has reports whether a directory has a regular file of this name.
func Has(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// Name returns the name of the directory or file itself, even if path is "." or ends in "..".
func Name(path string) (string, error) {
	abs, err := filepath.Abs(path)
	return filepath.Base(abs), err
}

// Missing reports whether err means that a file does not exist.
func Missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
