package artifact

import (
	"maps"

	"rivulet/internal/durable"
)

// WriteFaulty is Write on a disk whose operations fail where fault says so.
func WriteFaulty(dir string, b *Bundle, fault func(operation, path string) error) error {
	return write(durable.Disk{Fault: fault}, dir, b)
}

// EncodeAll are the files that Write writes.
func EncodeAll(b *Bundle) (map[string][]byte, error) {
	_, files, err := b.encode()
	return files, err
}

// EncodeUnchecked is EncodeAll of a bundle that need not be valid.
func EncodeUnchecked(b *Bundle) (map[string][]byte, error) {
	_, files, err := b.encodeFiles()
	return files, err
}

// DecodeAll reads files as Read does, without a directory.
func DecodeAll(files map[string][]byte) (*Bundle, error) {
	manifest, err := openManifest(files[manifestFile], files[manifestSumFile])
	if err != nil {
		return nil, err
	}
	tensors := maps.Clone(files)
	delete(tensors, manifestFile)
	delete(tensors, manifestSumFile)
	return decode(manifest, manifest.Files, tensors)
}

// Resign makes manifest.sha256 agree with a manifest that was changed.
func Resign(files map[string][]byte) { files[manifestSumFile] = manifestSum(files[manifestFile]) }
