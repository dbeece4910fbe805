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
// At every moment the directory is either unchanged or the complete artifact, even after a crash of the machine: files
// are written and synced in a directory beside it, which is then renamed. A crash may leave that directory behind, as
// .NAME.partial-*; it can be removed.
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
	manifest, err := install(disk, dir, b)
	if err != nil {
		return fmt.Errorf("writing artifact %s: %w", dir, err)
	}
	b.Manifest = *manifest
	return nil
}

// install writes parts of M before the manifest that lists them, and all else after.
func install(disk durable.Disk, dir string, b *Bundle) (manifest *Manifest, err error) {
	var files map[string][]byte
	if !b.inParts() {
		if manifest, files, err = b.encode(nil); err == nil {
			err = checkWhole(manifest, files, nil)
		}
		if err != nil {
			return nil, err
		}
		return manifest, disk.Install(dir, func(dir string) error { return fill(disk, dir, files) })
	}
	if err := b.Validate(); err != nil {
		return nil, err
	}
	err = disk.Install(dir, func(dir string) error {
		parts, err := fillParts(disk, dir, b)
		if err != nil {
			return err
		}
		if manifest, files, err = b.encodeFiles(parts); err != nil {
			return err
		}
		if err := checkWhole(manifest, files, parts.files); err != nil {
			return err
		}
		return fill(disk, dir, files)
	})
	return manifest, err
}

// fillParts writes the parts of M below a new directory.
func fillParts(disk durable.Disk, dir string, b *Bundle) (*encodedParts, error) {
	to := filepath.Join(dir, partsDir)
	if err := disk.MkdirAll(to); err != nil {
		return nil, err
	}
	parts, err := b.encodeParts(func(name string, data []byte) error {
		return disk.WriteFile(to, filepath.Base(name), func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return parts, disk.SyncDir(to)
}

// checkWhole refuses a bundle that does not hold all files of its manifest. parts have been written already.
func checkWhole(m *Manifest, files map[string][]byte, parts map[string]File) error {
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if _, written := parts[name]; written {
			continue
		}
		if _, ok := files[name]; !ok {
			return fmt.Errorf("%s: the manifest lists it and the bundle does not hold it: read it, or clear Manifest.Files",
				name)
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
