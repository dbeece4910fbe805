package run

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/artifact/signature"
	"rivulet/config"
	"rivulet/test/expect"
)

// With verify_key_file a pinned artifact serves where its manifest is signed, and a watcher gets the keys. A file
// without keys is an error, and never means that nothing is compared.
func TestVerifyKeyFile(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	expect.OK(t, err)
	der, err := x509.MarshalPKIXPublicKey(public)
	expect.OK(t, err)
	cfg := config.Default[config.Consumer]()
	dir := t.TempDir()
	cfg.VerifyKey, cfg.Artifact = filepath.Join(dir, "public.pem"), filepath.Join(dir, "artifact")
	write := func(file string, text []byte) {
		t.Helper()
		expect.OK(t, os.WriteFile(file, text, 0o600))
	}
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	expect.OK(t, artifact.Write(cfg.Artifact, b))
	refused := func(want string) {
		t.Helper()
		_, err := pinnedBy(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), want) || len(Lint(cfg)) == 0 {
			t.Errorf("got %v and %v, want %s", err, Lint(cfg), want)
		}
	}
	refused("verify_key_file: open")
	write(cfg.VerifyKey, []byte("nothing"))
	refused("there is no PEM public key in it")
	write(cfg.VerifyKey, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	refused("artifact " + cfg.Artifact + ": its manifest is not signed")
	manifest, err := os.ReadFile(filepath.Join(cfg.Artifact, "manifest.json"))
	expect.OK(t, err)
	write(filepath.Join(cfg.Artifact, signature.File), ed25519.Sign(private, manifest))
	if from, err := pinnedBy(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil || from.Current() == nil ||
		len(Lint(cfg)) != 0 {
		t.Errorf("a signed artifact: %v", err)
	}
	if o, err := choice(cfg); err != nil || len(o.Signers) != 1 || !public.Equal(o.Signers[0]) {
		t.Errorf("the keys are %v, %v", o.Signers, err)
	}
}
