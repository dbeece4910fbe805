package app

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"rivulet/config"
)

// bearer says which bearer tokens are taken.
type bearer interface{ Takes(token string) bool }

// tokensOf returns the tokens that the settings of a section such as "serve." name, nil if they name none.
func tokensOf(section string, a config.Access) (bearer, error) {
	switch {
	case a.TokenFile != "":
		t := &tokenFile{setting: section + "token_file", path: a.TokenFile}
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

// tokenPause is how long the tokens of a file are taken before it is looked at again.
const tokenPause = time.Second

// tokenFile has a token a line. It is read again, so that tokens can be changed while the server runs: the new
// one beside the old one until all clients have it. While it cannot be read, the tokens stay what they were.
type tokenFile struct {
	setting, path string

	mu    sync.Mutex
	taken tokens
	since time.Time // when the file was read last
}

// Takes reads the file again if that is some time ago.
func (f *tokenFile) Takes(token string) bool {
	f.mu.Lock()
	if time.Since(f.since) > tokenPause {
		_ = f.read() // the tokens stay
	}
	taken := f.taken
	f.mu.Unlock()
	return taken.Takes(token)
}

// read reads the file. It must have a token.
func (f *tokenFile) read() error {
	f.since = time.Now()
	text, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("%s: %w", f.setting, err)
	}
	var taken tokens
	for line := range strings.Lines(string(text)) {
		if token := strings.TrimSpace(line); token != "" {
			taken = append(taken, digest(token))
		}
	}
	if len(taken) == 0 {
		return fmt.Errorf("%s is %q: there is no token in it", f.setting, f.path)
	}
	f.taken = taken
	return nil
}
