package artifact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"rivulet/internal/durable"
)

// Write seals b and writes it to a directory, which must not exist yet or be empty: an artifact is never changed in
// place, a new version goes to a new directory. Parents are created.
//
// At every moment the directory is either unchanged or the complete artifact, even after a crash of the machine:
// files are written and synced in a directory beside it, which is then renamed. A crash may leave this one behind,
// as .NAME.partial-*; it can be removed.
func Write(dir string, b *Bundle) error { return write(durable.Disk{}, dir, b) }

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

func write(disk durable.Disk, dir string, b *Bundle) error {
	if err := CheckTarget(dir); err != nil {
		return err
	}
	manifest, files, err := b.encode()
	if err == nil {
		err = checkWhole(manifest, files)
	}
	if err == nil {
		err = disk.Install(dir, func(dir string) error { return fill(disk, dir, files) })
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

// fill writes files below a new directory and syncs them and every directory that holds them.
func fill(disk durable.Disk, dir string, files map[string][]byte) error {
	dirs := []string{dir}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if sub := filepath.Dir(filepath.Join(dir, filepath.FromSlash(name))); !slices.Contains(dirs, sub) {
			dirs = append(dirs, sub)
		}
	}
	for _, sub := range dirs {
		if err := disk.MkdirAll(sub); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to, file := filepath.Split(filepath.Join(dir, filepath.FromSlash(name)))
		err := disk.WriteFile(to, file, func(w io.Writer) error {
			_, err := w.Write(files[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, sub := range slices.Backward(dirs) {
		if err := disk.SyncDir(sub); err != nil {
			return err
		}
	}
	return nil
}
