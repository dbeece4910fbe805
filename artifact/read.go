package artifact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"rivulet/artifact/signature"
)

// maxManifestBytes bounds the bytes that are read before anything can be checked.
const maxManifestBytes = 16 << 20

// Read reads and checks the artifact in a directory: format version, every field of the manifest, that the directory
// has exactly the files that the manifest lists (names that begin with a dot are ignored), their sizes and SHA-256, and
// everything that [Bundle.Validate] checks. The error names the file, the field or tensor, and the reason. Spread stays
// nil: that file is only compared with its SHA-256, see [ReadSpread]. An M in parts stays in its files, which have all
// been read and checked once: Mapping is nil and Parts is set. [Bundle.LoadMapping] and the publisher check that no id
// is in two of them.
func Read(dir string) (*Bundle, error) { return readDir(dir, read) }

// openDir opens the directory of an artifact, which the caller closes, and reads its manifest.
func openDir(dir string) (root *os.Root, manifest *Manifest, err error) {
	if root, err = os.OpenRoot(dir); err != nil { // no name in a manifest leads out of it
		return nil, nil, err
	}
	if manifest, err = readManifest(root); err != nil {
		_ = root.Close()
		return nil, nil, err
	}
	return root, manifest, nil
}

// readDir opens the directory of an artifact, reads its manifest, and has read do the rest.
func readDir(dir string, read func(root *os.Root, manifest *Manifest) (*Bundle, error)) (*Bundle, error) {
	b, err := func() (*Bundle, error) {
		root, manifest, err := openDir(dir)
		if err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }()
		return read(root, manifest)
	}()
	if err != nil {
		return nil, fmt.Errorf("reading artifact %s: %w", dir, err)
	}
	return b, nil
}

func read(root *os.Root, manifest *Manifest) (_ *Bundle, err error) {
	if err := refuseUnlisted(root, manifest); err != nil {
		return nil, err
	}
	files := make(map[string][]byte, len(manifest.Files))
	names := maps.Clone(manifest.Files)
	for _, name := range slices.Sorted(maps.Keys(manifest.Files)) {
		if manifest.InParts() && (name == mappingFile || isPart(name)) {
			delete(names, name) // openParts reads them
			continue
		}
		if !slices.Contains(optionalFiles, name) && !slices.Contains(requiredFiles(manifest), name) {
			delete(names, name)
			err = verifyListed(root, name, manifest.Files[name])
		} else {
			files[name], err = readListed(root, name, manifest.Files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	b, err := decode(manifest, names, files)
	if err == nil && manifest.InParts() {
		err = b.openParts(root, root.Name())
	}
	return b, err
}

// ReadServing reads and checks the serving part of the artifact in a directory ([DecodeServing]), as a consumer has it
// of Redis: M's files are not opened.
func ReadServing(dir string) (*Bundle, error) { return readDir(dir, readServing) }

func readServing(root *os.Root, manifest *Manifest) (_ *Bundle, err error) {
	files := map[string][]byte{}
	for _, name := range manifest.ServingFiles() {
		if files[name], err = readListed(root, name, manifest.Files[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range []string{manifestFile, manifestSumFile} {
		if files[name], err = readHead(root, name); err != nil {
			return nil, err
		}
	}
	return DecodeServing(files)
}

// ReadAll is [Read] with all of M in memory, for callers that look up its rows there.
func ReadAll(dir string) (*Bundle, error) {
	b, err := Read(dir)
	if err == nil {
		err = b.LoadMapping()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// readOptional returns a bundle of the manifest and one optional file alone, checked.
func readOptional(dir, name string) (*Bundle, error) {
	b, err := openPart(dir, name)
	if err != nil {
		return nil, fmt.Errorf("reading artifact %s: %w", dir, err)
	}
	return b, nil
}

func openPart(dir, name string) (*Bundle, error) {
	root, manifest, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	listed, ok := manifest.Files[name]
	if !ok {
		return nil, fmt.Errorf("%s: the artifact has none", name)
	}
	data, err := readListed(root, name, listed)
	if err == nil {
		err = verify(data, listed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := &Bundle{Manifest: *manifest}
	if err := decodeTensorFile(b, name, data); err != nil {
		return nil, err
	}
	return b, b.validateSpread()
}

func readManifest(root *os.Root) (*Manifest, error) {
	text, err := readHead(root, manifestFile)
	if err != nil {
		return nil, err
	}
	sum, err := readHead(root, manifestSumFile)
	if err != nil {
		return nil, err
	}
	return openManifest(text, sum)
}

// open opens a regular file. Another kind is refused before it is opened: opening a FIFO waits until somebody writes.
func open(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file (%s)", name, info.Mode().Type())
	}
	return root.Open(name)
}

// readHead reads a file whose size is not known yet.
func readHead(root *os.Root, name string) ([]byte, error) {
	f, err := open(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: not an artifact, or one that was not completed", name)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxManifestBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxManifestBytes {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxManifestBytes)
	}
	return text, nil
}

func refuseUnlisted(root *os.Root, manifest *Manifest) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		_, listed := manifest.Files[name]
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() || listed || name == manifestFile || name == manifestSumFile ||
			name == signature.File:
			return nil
		}
		return fmt.Errorf("%s: the manifest does not list it", name)
	})
}

// readListed reads a file of the size in the manifest; a file of another size is refused unread.
func readListed(root *os.Root, name string, want File) ([]byte, error) {
	f, err := openListed(root, name, want)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, want.Bytes)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return data, nil
}

// verifyListed compares a file with its size and SHA-256 in the manifest, and does not keep its content.
func verifyListed(root *os.Root, name string, want File) error {
	f, err := openListed(root, name, want)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	if err := verifySize(size, want); err != nil {
		return err
	}
	return verifySum(sum.Sum(nil), want)
}

// openListed opens a file of the size in the manifest.
func openListed(root *os.Root, name string, want File) (*os.File, error) {
	f, err := open(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("missing, the manifest lists it")
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = verifySize(info.Size(), want)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
