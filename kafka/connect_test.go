package kafka

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rivulet/kafka/retry"
)

// passwords is a login whose password is another one each time.
type passwords struct {
	mechanism string
	next      []string
}

func (p *passwords) Mechanism() string { return p.mechanism }

func (p *passwords) Credentials() (username, password string, err error) {
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
	if _, err := Connect(Options{}); err == nil {
		t.Error("connected without brokers")
	}
}

// A broker that holds a fetch open until its wait is over answers a moment later. A deadline at that time would close
// the connection.
func TestAnIdleFetchKeepsItsConnection(t *testing.T) {
	b := newBench(t, 1)
	var dials atomic.Int32
	b.way.pool.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	c := b.cursor(0)
	c.wait = 30 * time.Millisecond
	const fetches = 10
	var first int32
	for k := range fetches {
		if records, _, err := c.fetch(t.Context()); err != nil || len(records) != 0 {
			t.Fatalf("fetch %d: %d records, %v", k, len(records), err)
		}
		if k == 0 {
			first = dials.Load()
		}
	}
	// The transport may open one more by itself, for metadata; a fetch that loses its connection opens another each time.
	if got := dials.Load(); got > first+2 {
		t.Errorf("%d connections were opened for %d fetches, %d of them for the first", got, fetches, first)
	}
}
