// Package signature says who made an artifact: a signature of its manifest by a key of Ed25519. The manifest has the
// checksums of all files, so it speaks for S, the models and their tables. Rows of M in Redis have another form, and no
// signature speaks for them.
//
//	openssl genpkey -algorithm ed25519 -out key.pem          the key that signs
//	openssl pkey -in key.pem -pubout -out public.pem         the key that consumers compare with
package signature

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is the file of a directory with the signature of its manifest, 64 bytes. `openssl pkeyutl -sign -rawin -inkey
// key.pem -in manifest.json -out manifest.sig` writes it.
const File = "manifest.sig"

// ErrUnsigned means that nobody has signed a manifest, or that none of the expected keys has.
var ErrUnsigned = errors.New("its manifest is not signed by a key of verify_key_file")

// Check returns [ErrUnsigned] unless one of the keys has signed the manifest.
func Check(manifest, signature []byte, by []ed25519.PublicKey) error {
	for _, key := range by {
		if ed25519.Verify(key, manifest, signature) {
			return nil
		}
	}
	if len(signature) == 0 {
		return fmt.Errorf("%w: it has no signature", ErrUnsigned)
	}
	return fmt.Errorf("%w: it has the signature of another key, or of another manifest", ErrUnsigned)
}

// CheckDirectory is [Check] of the artifact in a directory.
func CheckDirectory(dir string, by []ed25519.PublicKey) error {
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return err
	}
	signed, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return Check(manifest, signed, by)
}

// PublicKeys reads the keys of a PEM file, one at least. Several let a new key take over from an old one.
func PublicKeys(text []byte) (keys []ed25519.PublicKey, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		key, is := parsed.(ed25519.PublicKey)
		if err != nil || !is {
			return nil, fmt.Errorf("%q is no public key of Ed25519", block.Type)
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, errors.New("there is no PEM public key in it")
	}
	return keys, nil
}

// PrivateKeyOf reads the key of a file.
func PrivateKeyOf(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return PrivateKey(text)
}

// PrivateKey reads the key of a PEM file's text. Errors tell nothing of its content.
func PrivateKey(text []byte) (ed25519.PrivateKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if key, is := parsed.(ed25519.PrivateKey); err == nil && is {
			return key, nil
		}
	}
	return nil, errors.New("it is no PEM private key of Ed25519, as openssl genpkey -algorithm ed25519 writes")
}
