package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Seal completes the manifest: FormatVersion, Files, and if it is empty Version, by [NewVersion]. It fails if the
// bundle is not valid. Write seals by itself; a bundle that goes elsewhere without being written must be sealed
// first.
func (b *Bundle) Seal() error {
	manifest, _, err := b.encode(nil)
	if err != nil {
		return fmt.Errorf("sealing artifact: %w", err)
	}
	b.Manifest = *manifest
	return nil
}

// EncodeServing returns the serving part of a sealed bundle, everything except M and the spread, as files by
// name, byte for byte as in the directory. A bundle without an M must come from [DecodeServing].
func EncodeServing(b *Bundle) (map[string][]byte, error) {
	if b.Manifest.Version == "" {
		return nil, errors.New("encoding artifact: version is empty, the bundle is not sealed")
	}
	_, files, err := b.encode(nil)
	if err != nil {
		return nil, fmt.Errorf("encoding artifact: %w", err)
	}
	for _, name := range trainerFiles { // parts of M are not among them
		delete(files, name)
	}
	return files, nil
}

// DecodeServing reads the files that [EncodeServing] returns. It makes all checks of [Read] but the checks of M;
// Mapping and Spread are nil. A file that this build does not know may be missing, because later builds may
// leave it out of the serving part. The error names the file, the field or tensor, and the reason.
func DecodeServing(files map[string][]byte) (*Bundle, error) {
	for _, name := range []string{manifestFile, manifestSumFile} {
		if _, ok := files[name]; !ok {
			return nil, fmt.Errorf("decoding artifact: %s is missing", name)
		}
	}
	manifest, err := openManifest(files[manifestFile], files[manifestSumFile])
	if err != nil {
		return nil, fmt.Errorf("decoding artifact: %w", err)
	}
	names := maps.Clone(manifest.Files)
	for _, name := range trainerFiles {
		delete(names, name)
	}
	maps.DeleteFunc(names, func(name string, _ File) bool {
		_, there := files[name]
		return !there && !slices.Contains(requiredFiles(manifest), name)
	})
	tensors := maps.Clone(files)
	delete(tensors, manifestFile)
	delete(tensors, manifestSumFile)
	b, err := decode(manifest, names, tensors)
	if err != nil {
		return nil, fmt.Errorf("decoding artifact %s: %w", manifest.Version, err)
	}
	return b, nil
}

// encode returns the manifest with its list of files, and all files of b but parts of M, the manifest's among them.
// parts are the parts of M if they have been encoded already, else nil.
func (b *Bundle) encode(parts *encodedParts) (*Manifest, map[string][]byte, error) {
	if err := b.Validate(); err != nil {
		return nil, nil, err
	}
	return b.encodeFiles(parts)
}

// encodeFiles is encode for a bundle that is valid.
func (b *Bundle) encodeFiles(parts *encodedParts) (*Manifest, map[string][]byte, error) {
	files, err := encodeTensorFiles(b)
	if err != nil {
		return nil, nil, err
	}
	if parts == nil && b.inParts() && !b.sealedParts() {
		if parts, err = b.encodeParts(func(string, []byte) error { return nil }); err != nil {
			return nil, nil, err
		}
	}
	m := b.Manifest
	m.FormatVersion, m.Requires = b.format()
	m.MapIDs = b.Map != nil && b.Map.Heaviest != nil
	m.Created = m.Created.UTC()
	m.Files = make(map[string]File, len(files)+2)
	for name, f := range b.Manifest.Files { // they may be elsewhere
		if slices.Contains(trainerFiles, name) || isPart(name) && parts == nil && b.hasParts() {
			m.Files[name] = f
		}
	}
	if parts != nil {
		maps.Copy(m.Files, parts.files)
		files[mappingFile] = parts.index
	}
	for name, data := range files {
		m.Files[name] = describe(data)
	}
	if m.Version == "" {
		if files[manifestFile], err = encodeManifest(&m); err != nil {
			return nil, nil, err
		}
		m.Version = NewVersion(m.Created, files)
	}
	if err := ValidVersion(m.Version); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if err := m.validateFiles(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if files[manifestFile], err = encodeManifest(&m); err != nil {
		return nil, nil, err
	}
	files[manifestSumFile] = manifestSum(files[manifestFile])
	return &m, files, nil
}

// sealedParts reports whether the manifest lists the parts of a bundle that was read from a directory or written to
// one.
func (b *Bundle) sealedParts() bool {
	_, listed := b.Manifest.Files[firstPart]
	return listed && b.Manifest.Version != "" && b.Mapping == nil
}

// decode reads a bundle from tensor files, which must be exactly the ones in names.
func decode(manifest *Manifest, names map[string]File, files map[string][]byte) (*Bundle, error) {
	for name := range files {
		if _, ok := names[name]; !ok {
			return nil, fmt.Errorf("%s: the manifest does not list it", name)
		}
	}
	b := &Bundle{Manifest: *manifest}
	for _, info := range manifest.Models {
		b.Models = append(b.Models, Model{Name: info.Name})
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		data, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("%s: missing, the manifest lists it", name)
		}
		if err := verify(data, names[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := decodeTensorFile(b, name, data); err != nil {
			return nil, err
		}
	}
	if err := b.Validate(); err != nil {
		return nil, err
	}
	return b, nil
}

func describe(data []byte) File {
	sum := sha256.Sum256(data)
	return File{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
}

// verify compares a file with its size and SHA-256 in the manifest.
func verify(data []byte, want File) error {
	if err := verifySize(int64(len(data)), want); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return verifySum(sum[:], want)
}

func verifySum(sum []byte, want File) error {
	if wanted, err := hex.DecodeString(want.SHA256); err != nil || !bytes.Equal(sum, wanted) {
		return fmt.Errorf("SHA-256 is %x, the manifest says %s: changed or damaged", sum, want.SHA256)
	}
	return nil
}

func verifySize(size int64, want File) error {
	if size != want.Bytes {
		return fmt.Errorf("%d bytes, the manifest says %d: torn or changed", size, want.Bytes)
	}
	return nil
}
