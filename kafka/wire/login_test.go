package wire

import (
	"context"
	"errors"
	"strings"
	"testing"

	"rivulet/kafka/retry"
)

// passwords is a login whose password is another one each time.
type passwords struct {
	mechanism string
	next      []string
}

func (p *passwords) Mechanism() string { return p.mechanism }

func (p *passwords) Credentials(context.Context) (username, password string, err error) {
	if len(p.next) == 0 {
		return "", "", errors.New("the file is gone")
	}
	password, p.next = p.next[0], p.next[1:]
	return "me", password, nil
}

func TestCredentialsAreAskedForAtEachConnection(t *testing.T) {
	e := exchange{&passwords{Plain, []string{"first", "second"}}}
	for _, password := range []string{"first", "second"} {
		if _, state, err := e.Start(t.Context()); err != nil || !strings.HasSuffix(string(state), "\x00me\x00"+password) {
			t.Errorf("%q, %v, want %s", state, err, password)
		}
	}
	if _, _, err := e.Start(t.Context()); err == nil || retry.Judge(err) != retry.Retriable {
		t.Errorf("a file that is missing for a moment: %v", err)
	}
}

func TestALoginThatCannotBeIsPermanent(t *testing.T) {
	for _, l := range []*passwords{{"GSSAPI", []string{"word"}}, {ScramSHA256, []string{"\x00"}}} {
		if _, _, err := (exchange{l}).Start(t.Context()); err == nil || retry.Judge(err) != retry.Permanent {
			t.Errorf("%s: %v", l.mechanism, err)
		}
	}
}

// The first message of OAUTHBEARER has the form of RFC 7628, and a refusal is answered by the byte that ends it.
func TestOAuthBearer(t *testing.T) {
	state, message, err := exchange{&passwords{OAuthBearer, []string{"a.b.c"}}}.Start(t.Context())
	if err != nil || string(message) != "n,,\x01auth=Bearer a.b.c\x01\x01" {
		t.Fatalf("%q, %v", message, err)
	}
	done, message, err := state.Next(t.Context(), []byte(`{"status":"invalid_token"}`))
	if done || string(message) != "\x01" || err != nil {
		t.Errorf("a refusal: %v %q %v", done, message, err)
	}
	if done, _, err := state.Next(t.Context(), nil); !done || err != nil {
		t.Errorf("an accepted token: %v %v", done, err)
	}
}
