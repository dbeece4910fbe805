package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Write seals b and writes it to a directory, which must not exist yet or be empty: an artifact is never changed in
// place, a new version goes to a new directory. Parents are created.
//
// At every moment the directory is either unchanged or the complete artifact, even after a crash of the machine:
// files are written and synced in a directory beside it, which is then renamed. A crash may leave this one behind,
// as .NAME.partial-*; it can be removed.
func Write(dir string, b *Bundle) error { return disk{}.write(dir, b) }

// CheckTarget reports whether [Write] would refuse a directory, for a caller that works for long before it writes.
func CheckTarget(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("writing artifact: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("writing artifact: %s is not empty (it has %s): choose another directory or remove it", dir,
			entries[0].Name())
	}
	return nil
}

// disk is the file system with a seam for tests: fault, if set, is called before each operation, and its result
// is that operation's error.
type disk struct {
	fault func(operation, path string) error
}

func (d disk) try(operation, path string, do func() error) error {
	if d.fault != nil {
		if err := d.fault(operation, path); err != nil {
			return err
		}
	}
	return do()
}

func (d disk) write(dir string, b *Bundle) error {
	if err := CheckTarget(dir); err != nil {
		return err
	}
	manifest, files, err := b.encode()
	if err == nil {
		err = checkWhole(manifest, files)
	}
	if err == nil {
		err = d.install(dir, files)
	}
	if err != nil {
		return fmt.Errorf("writing artifact %s: %w", dir, err)
	}
	b.Manifest = *manifest
	return nil
}

// checkWhole refuses a bundle that does not hold all files of its manifest.
func checkWhole(m *Manifest, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if _, ok := files[name]; !ok {
			return fmt.Errorf("%s: the manifest lists it and the bundle does not hold it: read it, or clear Manifest.Files", name)
		}
	}
	return nil
}

// install creates dir with these files.
func (d disk) install(dir string, files map[string][]byte) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if err := d.try("mkdir", parent, func() error { return os.MkdirAll(parent, 0o777) }); err != nil {
		return err
	}
	var staging string
	err = d.try("mkdir", filepath.Join(parent, ".partial"), func() (err error) {
		staging, err = os.MkdirTemp(parent, "."+filepath.Base(dir)+".partial-*")
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		left := d.try("remove", staging, func() error { return os.RemoveAll(staging) })
		if err != nil { // if the artifact is in place, a failed removal of the directory beside it is no error
			err = errors.Join(err, left)
		}
	}()
	whole := filepath.Join(staging, "artifact") // MkdirTemp's own is closed to other users
	if err := d.fill(whole, files); err != nil {
		return err
	}
	return d.rename(whole, dir)
}

// fill writes files below a new directory and syncs them and every directory that holds them.
func (d disk) fill(dir string, files map[string][]byte) error {
	dirs := []string{dir}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if sub := filepath.Dir(path); !slices.Contains(dirs, sub) {
			dirs = append(dirs, sub)
		}
	}
	for _, sub := range dirs {
		if err := d.try("mkdir", sub, func() error { return os.MkdirAll(sub, 0o777) }); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := d.writeFile(filepath.Join(dir, filepath.FromSlash(name)), files[name]); err != nil {
			return err
		}
	}
	for _, sub := range slices.Backward(dirs) {
		if err := d.sync(sub); err != nil {
			return err
		}
	}
	return nil
}

func (d disk) writeFile(path string, data []byte) (err error) {
	var f *os.File
	err = d.try("create", path, func() (err error) {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	half := len(data) / 2 // two writes, so that a fault can tear a file
	for _, part := range [][]byte{data[:half], data[half:]} {
		err := d.try("write", path, func() error {
			_, err := f.Write(part)
			return err
		})
		if err != nil {
			return err
		}
	}
	return d.try("sync", path, f.Sync)
}

func (d disk) rename(from, to string) error {
	err := d.try("remove", to, func() error { return os.Remove(to) }) // an empty directory, or nothing
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("taking the place of an empty directory (if that is a mount, name a directory below it): %w", err)
	}
	if err := d.try("rename", to, func() error { return os.Rename(from, to) }); err != nil {
		return err
	}
	return d.sync(filepath.Dir(to))
}

// sync makes the entries of a directory durable.
func (d disk) sync(dir string) error {
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
