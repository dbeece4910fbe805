package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Disk is the file system, with a seam for tests. Its zero value is the machine's.
type Disk struct {
	// Fault, if set, is called before each operation (mkdir, create, write, sync, rename, remove) with the path that it
	// is about. An error that it returns becomes the operation's, which is then not done.
	Fault func(operation, path string) error
}

func (d Disk) try(operation, path string, do func() error) error {
	if d.Fault != nil {
		if err := d.Fault(operation, path); err != nil {
			return err
		}
	}
	return do()
}

// MkdirAll makes a directory and its parents, and makes the entries of all that were missing durable.
func (d Disk) MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := d.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := d.try("mkdir", dir, func() error { return os.MkdirAll(dir, 0o777) }); err != nil {
		return err
	}
	return d.SyncDir(parent)
}

// WriteFile writes and syncs one file of a directory under a temporary name and then renames it, so that the file is
// complete or missing. Its entry in the directory is durable once [Disk.SyncDir] has returned.
func (d Disk) WriteFile(dir, name string, encode func(io.Writer) error) (err error) {
	var f *os.File
	err = d.try("create", filepath.Join(dir, name), func() (err error) {
		f, err = os.CreateTemp(dir, name+".*")
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			_ = f.Close()
			_ = d.try("remove", f.Name(), func() error { return os.Remove(f.Name()) })
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	err = d.try("write", f.Name(), func() error {
		if err := encode(w); err != nil {
			return err
		}
		return w.Flush()
	})
	if err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := d.try("sync", f.Name(), f.Sync); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	to := filepath.Join(dir, name)
	return d.try("rename", to, func() error { return os.Rename(f.Name(), to) })
}

// SyncDir makes the entries of a directory durable.
func (d Disk) SyncDir(dir string) error {
	return d.try("sync", dir, func() (err error) {
		if runtime.GOOS == "windows" {
			return nil // directories cannot be synced on this system
		}
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return f.Sync()
	})
}

// Rename renames a file or directory and makes the new name durable. An empty directory in its place is replaced.
func (d Disk) Rename(from, to string) error {
	if err := d.try("rename", to, func() error { return os.Rename(from, to) }); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(to))
}

// RemoveAll removes a directory with all that is in it. It may be left half removed by a crash: rename it first.
func (d Disk) RemoveAll(dir string) error {
	return d.try("remove", dir, func() error { return os.RemoveAll(dir) })
}
