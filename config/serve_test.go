package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"rivulet/test/expect"
)

// A server that is reachable beyond this machine uses TLS and a token, or its settings say that something else protects
// it.
func TestServeBeyondLoopback(t *testing.T) {
	const tls, token = "--serve.tls.cert_file=c --serve.tls.key_file=k", "--serve.token_file=t"
	for _, c := range []struct {
		flags string
		lacks string // in the error; "" where the settings are right
	}{
		{"", ""},
		{"--serve.listen=localhost:0", ""},
		{"--serve.listen=[::1]:8080", ""},
		{"--serve.listen=127.1.2.3:8080", ""},
		{"--serve.listen=:8080", "neither TLS nor a token"},
		{"--serve.listen=0.0.0.0:8080 " + token, "no TLS"},
		{"--serve.listen=10.0.0.1:8080 " + tls, "no token"},
		{"--serve.listen=example.org:8080", "neither TLS nor a token"},
		{"--serve.listen=:8080 " + tls + " " + token, ""},
		{"--serve.listen=:8080 --serve.open", ""},
	} {
		_, err := Load[Serve](serveSources(t, c.flags))
		switch {
		case c.lacks == "" && err != nil:
			t.Errorf("%s: %v", c.flags, err)
		case c.lacks != "" && (err == nil || !strings.Contains(err.Error(), "serve.listen") ||
			!strings.Contains(err.Error(), c.lacks)):
			t.Errorf("%s: %v, want %q", c.flags, err, c.lacks)
		}
	}
}

func serveSources(t *testing.T, flags string, environ ...string) Sources {
	t.Helper()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	Flags[Serve](fs)
	expect.OK(t, fs.Parse(strings.Fields(flags)))
	return Sources{Flags: fs, Environ: environ}
}

func TestServeProblems(t *testing.T) {
	for _, c := range []struct{ flags, key string }{
		{"--batch.mode=graph", "batch.mode"},
		{"--serve.tls.cert_file=c", "serve.tls.key_file"},
		{"--serve.tls.key_file=c", "serve.tls.cert_file"},
		{"--serve.max_body=128MiB", "serve.queue.bytes"},
		{"--serve.listen=", "serve.listen"},
		{"--attach.arrivals=on --artifact=a", "attach.arrivals"},
		{"--cache.directory=rows", "cache.directory"},
	} {
		expect.Error(t, expect.ErrorOf(Load[Serve](serveSources(t, c.flags))), c.key, "%s", c.flags)
	}
	_, err := Load[Serve](serveSources(t, "--serve.token_file=t", "RIVULET_SERVE_TOKEN=secret"))
	if err == nil || !strings.Contains(err.Error(), "serve.token_file") || strings.Contains(err.Error(), "secret") {
		t.Errorf("two tokens: %v", err)
	}
}

// One file has the settings of both programs: each passes over the other's.
func TestServeSharesTheConsumersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rivulet.yaml")
	if err := os.WriteFile(path, []byte("batch: {mode: node, size: 7}\nserve: {max_arrivals: 7}\nkafka: {group: g}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	file := Sources{Environ: []string{fileVariable + "=" + path}}
	if _, err := Load[Consumer](file); err != nil {
		t.Error(err)
	}
	cfg, err := Load[Serve](file)
	if err != nil || cfg.Server.MaxArrivals != 7 {
		t.Errorf("%+v, %v", cfg.Server, err)
	}
}
