package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// TryDirectory returns why a directory could not be written to or made, before hours of work are spent on its content.
// It leaves nothing behind. name is the flag that names the directory; an empty dir is not tried.
func TryDirectory(name, dir string) error {
	return tried(name, dir, func(absolute string) string { return absolute })
}

// TryBeside is TryDirectory for a directory that is made beside dir and renamed to it, as an artifact is.
func TryBeside(name, dir string) error { return tried(name, dir, filepath.Dir) }

func tried(name, dir string, where func(absolute string) string) error {
	if dir == "" {
		return nil
	}
	absolute, err := filepath.Abs(dir)
	if err == nil {
		err = tryBelow(where(absolute))
	}
	if err != nil {
		return fmt.Errorf("--%s is %s, where nothing can be written: %w", name, dir, err)
	}
	return nil
}

// tryBelow makes a directory, and removes it, in the nearest one to dir that exists.
func tryBelow(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		return tryBelow(filepath.Dir(dir))
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	made, err := os.MkdirTemp(dir, ".trial-*")
	if err != nil {
		return err
	}
	return os.Remove(made)
}

// TryFile returns why a file could not be written, before hours of work are spent on its content. An existing file
// stays as it is, and a new one is not left behind. name is the flag that names the file; an empty file is not tried.
func TryFile(name, file string) error {
	if file == "" {
		return nil
	}
	if err := tryFile(file); err != nil {
		return fmt.Errorf("--%s cannot be written: %w", name, err)
	}
	return nil
}

func tryFile(file string) error {
	_, before := os.Lstat(file)
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		// Opening a FIFO waits for a reader, and closing it again tells the reader that all has been written.
		if info.Mode()&fs.ModeDevice != 0 { // such as /dev/null or a terminal
			return nil
		}
		return fmt.Errorf("%s is no file that can be written to (%s)", file, info.Mode().Type())
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err == nil {
		err = f.Close()
	}
	if err == nil && errors.Is(before, fs.ErrNotExist) {
		err = os.Remove(file)
	}
	return err
}
