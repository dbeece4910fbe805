package connect

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"rivulet/config"
	"rivulet/internal/observe"
	"rivulet/test/expect"
)

// A token file that is emptied or removed revokes its tokens at once; one that cannot be read for another reason
// revokes none. Both are logged and counted.
func TestTokenFileRevokes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens")
	write := func(text string) {
		t.Helper()
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("stolen\n")
	var log bytes.Buffer
	tokens, err := Tokens("serve.", config.Access{TokenFile: path}, slog.New(slog.NewTextHandler(&log, nil)))
	expect.OK(t, err)
	registry := prometheus.NewRegistry()
	tokens.(*tokenFile).register(observe.HTTP{Registry: registry}.Gauge)
	want := func(when string, taken bool, valid, unreadable, logged string) {
		t.Helper()
		if got := tokens.Takes("stolen"); got != taken {
			t.Errorf("%s: the token is taken: %v", when, got)
		}
		metrics := "# HELP rivulet_http_token_file_unreadable 1 while the token file cannot be read and the tokens from " +
			"before stay valid.\n" +
			"# TYPE rivulet_http_token_file_unreadable gauge\nrivulet_http_token_file_unreadable " + unreadable + "\n" +
			"# HELP rivulet_http_tokens Tokens of the token file that are valid; 0: it was emptied or removed.\n" +
			"# TYPE rivulet_http_tokens gauge\nrivulet_http_tokens " + valid + "\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(metrics)); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if text := log.String(); strings.Count(text, "\n") > 1 || !strings.Contains(text, logged) {
			t.Errorf("%s: the log has %q, want a line with %q", when, text, logged)
		}
		log.Reset()
	}
	want("at the start", true, "1", "0", "")
	write("")
	want("emptied", false, "0", "0", "all tokens are revoked")
	write("stolen\nother\n")
	want("filled again", true, "2", "0", "before=0 now=2")
	expect.OK(t, os.Remove(path))
	want("removed", false, "0", "0", "all tokens are revoked")
	want("still removed", false, "0", "0", "")
	write("stolen\n")
	want("there again", true, "1", "0", "before=0 now=1")
	expect.OK(t, os.Remove(path))
	if err := os.Mkdir(path, 0o700); err != nil { // which cannot be read as a file, by root neither
		t.Fatal(err)
	}
	want("a directory", true, "1", "1", "cannot be read")
	expect.OK(t, os.Remove(path))
	write("stolen\n")
	want("a file again", true, "1", "0", "can be read again")
}
