package connect

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"rivulet/config"
	"rivulet/internal/httpd"
)

// Tokens returns the tokens that the settings of a section such as "serve." name, nil if they name none.
func Tokens(section string, a config.Access, log *slog.Logger) (httpd.Tokens, error) {
	switch {
	case a.TokenFile != "":
		t := &tokenFile{setting: section + "token_file", path: a.TokenFile, log: log}
		return t, t.read()
	case a.Token != "":
		return tokens{digest(a.Token.Reveal())}, nil
	}
	return nil, nil
}

// tokens are the digests of all tokens that are taken: of one length, so that a comparison tells nothing.
type tokens [][sha256.Size]byte

func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// Takes compares with every token, whichever is the right one.
func (t tokens) Takes(token string) bool {
	got, equal := digest(token), 0
	for i := range t {
		equal |= subtle.ConstantTimeCompare(got[:], t[i][:])
	}
	return equal == 1
}

// tokenPause is after how long a file is read again although it looks the same.
const tokenPause = time.Second

// tokenFile has a token a line. It is looked at with every request, so that tokens can be changed while the server
// runs: a new one stands beside the old one until all clients have it. A file that is emptied or removed takes all
// tokens away at once. While it cannot be read for another reason, such as its rights, the tokens stay.
type tokenFile struct {
	setting, path string
	log           *slog.Logger

	mu         sync.Mutex
	taken      tokens
	since      time.Time   // when the file was read last
	seen       os.FileInfo // its state when it was read; nil: it was not there
	unreadable bool
}

// Takes looks at the file first.
func (f *tokenFile) Takes(token string) bool { return f.current().Takes(token) }

// current returns the tokens of the file as it is now.
func (f *tokenFile) current() tokens {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.changed() {
		return f.taken
	}
	before, wasUnreadable := len(f.taken), f.unreadable
	err := f.read()
	switch {
	case f.unreadable && !wasUnreadable:
		f.log.Error("the token file cannot be read; its tokens stay valid", "error", err)
	case !f.unreadable && wasUnreadable:
		f.log.Info("the token file can be read again", "setting", f.setting, "file", f.path)
	}
	switch now := len(f.taken); {
	case now == 0 && before > 0:
		f.log.Error("all tokens are revoked: the token file was emptied or removed", "setting", f.setting, "file", f.path,
			"revoked", before)
	case now != before:
		f.log.Info("the number of tokens changed", "setting", f.setting, "file", f.path, "before", before, "now", now)
	}
	return f.taken
}

// changed reports whether the file looks different, or was read some time ago. The caller holds mu.
func (f *tokenFile) changed() bool {
	info, err := os.Stat(f.path)
	return time.Since(f.since) > tokenPause || err != nil || f.seen == nil || !os.SameFile(info, f.seen) ||
		info.Size() != f.seen.Size() || !info.ModTime().Equal(f.seen.ModTime())
}

// read reads the file. A missing file, or one without a token, is an error that revokes all tokens; another error
// revokes none.
func (f *tokenFile) read() error {
	f.since = time.Now()
	f.seen, _ = os.Stat(f.path) // before the text: a later change is then read the next time
	text, err := ReadSmall(f.path)
	f.unreadable = err != nil && !errors.Is(err, fs.ErrNotExist)
	if f.unreadable {
		return fmt.Errorf("%s: %w", f.setting, err)
	}
	f.taken = nil
	if err != nil {
		return fmt.Errorf("%s: %w", f.setting, err)
	}
	for line := range strings.Lines(string(text)) {
		if token := strings.TrimSpace(line); token != "" {
			f.taken = append(f.taken, digest(token))
		}
	}
	if len(f.taken) == 0 {
		return fmt.Errorf("%s is %q: there is no token in it", f.setting, f.path)
	}
	return nil
}

// Gauge adds a figure that is read when it is asked for.
type Gauge func(name, help string, value func() float64)

// MeasureTokens has metrics say how many tokens of a file are valid; tokens that are in the settings need none.
func MeasureTokens(t httpd.Tokens, gauge Gauge) {
	if file, ok := t.(*tokenFile); ok {
		file.register(gauge)
	}
}

// register has metrics say how many tokens are valid, and whether their file cannot be read.
func (f *tokenFile) register(gauge Gauge) {
	gauge("tokens", "Tokens of the token file that are valid; 0: it was emptied or removed.",
		func() float64 { return float64(len(f.current())) })
	gauge("token_file_unreadable", "1 while the token file cannot be read and the tokens from before stay valid.",
		func() float64 {
			f.current()
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.unreadable {
				return 1
			}
			return 0
		})
}
