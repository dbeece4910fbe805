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
	_, files, err := b.encode(nil)
	return files, err
}

// EncodeUnchecked is EncodeAll of a bundle that need not be valid.
func EncodeUnchecked(b *Bundle) (map[string][]byte, error) {
	_, files, err := b.encodeFiles(nil)
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

// SmallParts makes parts of M of n rows until the function that it returns is called.
func SmallParts(n int) (restore func()) {
	partRows = n
	return func() { partRows = PartRows }
}

// Resign makes manifest.sha256 agree with a manifest that was changed.
func Resign(files map[string][]byte) { files[manifestSumFile] = manifestSum(files[manifestFile]) }

// Rows are the rows lo to hi−1 of m.
func Rows(m *Mapping, lo, hi int) *Mapping {
	out := newMapping(hi-lo, 0, m.Rows.Cols)
	out.add(m, lo, hi)
	return out
}
