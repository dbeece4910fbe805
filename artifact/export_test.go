package artifact

import "maps"

// WriteFaulty is Write on a disk whose operations fail where fault says so.
func WriteFaulty(dir string, b *Bundle, fault func(operation, path string) error) error {
	return disk{fault: fault}.write(dir, b)
}

// EncodeAll are the files that Write writes.
func EncodeAll(b *Bundle) (map[string][]byte, error) {
	_, files, err := b.encode()
	return files, err
}

// DecodeAll reads files as Read does, without a directory.
func DecodeAll(files map[string][]byte) (*Bundle, error) {
	manifest, err := ParseManifest(files[manifestFile])
	if err != nil {
		return nil, err
	}
	tensors := maps.Clone(files)
	delete(tensors, manifestFile)
	return decode(manifest, manifest.Files, tensors)
}
