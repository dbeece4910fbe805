package signature

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// Keys as openssl genpkey -algorithm ed25519 and openssl pkey -pubout write them, and the signature of the text "{}\n"
// by openssl pkeyutl -sign -rawin.
const (
	private = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIOGcfSoU/QgUz7eKurhLywv66O14wOiIS5qo5vXIVkYI
-----END PRIVATE KEY-----
`
	public = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA7isPl6g2vNZ7pHyYFf6p5xybO/kOdG4lX2DR75tHpWY=
-----END PUBLIC KEY-----
`
	signed = "dcb902e30bf554abf551b7c195a094b64d9fbd7fb8f4dcdea539bb50adacaf86" +
		"255b45ca271050bb3990d69e203ade2717fd2c27887563fdf37ab898f50e320e"
)

// What OpenSSL signs is taken, and what is signed here has the same bytes; another text, another key and no signature
// are refused.
func TestSignaturesAreOpenSSLs(t *testing.T) {
	keys, err := PublicKeys([]byte(public))
	expect.OK(t, err)
	key, err := PrivateKey([]byte(private))
	expect.OK(t, err)
	want, err := hex.DecodeString(signed)
	expect.OK(t, err)
	manifest := []byte("{}\n")
	if got := ed25519.Sign(key, manifest); string(got) != string(want) {
		t.Errorf("the signature is %x, want %x", got, want)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	write("manifest.json", manifest)
	if err := CheckDirectory(dir, keys); !errors.Is(err, ErrUnsigned) ||
		!strings.Contains(err.Error(), "has no signature") {
		t.Errorf("no signature: %v", err)
	}
	write(File, want)
	if err := CheckDirectory(dir, keys); err != nil {
		t.Error(err)
	}
	if err := Check([]byte("{} \n"), want, keys); !errors.Is(err, ErrUnsigned) {
		t.Errorf("another text: %v", err)
	}
	if err := Check(manifest, want, nil); !errors.Is(err, ErrUnsigned) {
		t.Errorf("no keys: %v", err)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	for _, text := range []string{"", "word", private} {
		if _, err := PublicKeys([]byte(text)); err == nil {
			t.Errorf("a public key of %q", text)
		}
	}
	for _, text := range []string{"", "word", public} {
		if _, err := PrivateKey([]byte(text)); err == nil || strings.Contains(err.Error(), "word") {
			t.Errorf("a private key of %q: %v", text, err)
		}
	}
}
