package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// MkdirAll makes a directory and its parents, and makes the entries of all new ones durable.
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

// Partial is in the name of a directory that [Disk.Install] fills, after a dot and the name that it will have.
const Partial = ".partial-"

// Install makes a directory and its parents: fill writes one under a hidden name beside it, which is then renamed. At
// every moment dir is unchanged or complete, even after a crash of the machine, which may leave the hidden one behind,
// as .NAME.partial-*; it can be removed. dir must not exist yet or be empty; fill makes the directory that it is given,
// and its files must be durable when it returns.
func (d Disk) Install(dir string, fill func(dir string) error) (err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	parent, hidden := filepath.Dir(dir), "."+filepath.Base(dir)+Partial
	if err := d.MkdirAll(parent); err != nil {
		return err
	}
	var staging string
	err = d.try("mkdir", filepath.Join(parent, hidden), func() (err error) {
		staging, err = os.MkdirTemp(parent, hidden+"*")
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		left := d.RemoveAll(staging)
		if err != nil { // if dir is in place, a failed removal of the directory beside it is no error
			err = errors.Join(err, left)
		}
	}()
	whole := filepath.Join(staging, filepath.Base(dir)) // MkdirTemp's own is closed to other users
	if err := fill(whole); err != nil {
		return err
	}
	err = d.try("remove", dir, func() error { return os.Remove(dir) }) // an empty directory, or nothing
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("taking the place of an empty directory (if that is a mount, name a directory below it): %w", err)
	}
	return d.Rename(whole, dir)
}

// Rename renames a file or directory and makes the new name durable.
func (d Disk) Rename(from, to string) error {
	if err := d.try("rename", to, func() error { return os.Rename(from, to) }); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(to))
}

// RemoveAll removes a directory and its content. A crash may leave it half removed: rename it first.
func (d Disk) RemoveAll(dir string) error {
	return d.try("remove", dir, func() error { return os.RemoveAll(dir) })
}
