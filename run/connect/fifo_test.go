//go:build unix

package connect

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"rivulet/config"
	"rivulet/test/expect"
)

// A FIFO in place of a file of secrets is an error at once, which revokes nothing: nobody waits for its writer. So are
// a device and a file that is too large.
func TestSecretsAreRegularFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, large, tokens := filepath.Join(dir, "fifo"), filepath.Join(dir, "large"), filepath.Join(dir, "tokens")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.WriteFile(large, make([]byte, maxSmall+1), 0o600),
		os.WriteFile(tokens, []byte("word"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, large, "/dev/zero"} {
		expect.Error(t, expect.ErrorOf(readPassword("redis.password_file", path)), path, "password of %s", path)
		if _, err := (tlsFiles{section: "kafka.tls", ca: path}).Config(); err == nil {
			t.Errorf("authorities of %s: no error", path)
		}
		if _, err := (tlsFiles{section: "kafka.tls", cert: path, key: path}).Config(); err == nil {
			t.Errorf("certificate of %s: no error", path)
		}
		if _, err := Tokens("serve.", config.Access{TokenFile: path}, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("tokens of %s: no error", path)
		}
	}
	of, err := Tokens("serve.", config.Access{TokenFile: tokens}, slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	expect.OK(t, os.Rename(fifo, tokens))
	if !of.Takes("word") || of.Takes("other") {
		t.Error("a FIFO in place of the file changes the tokens")
	}
}
