package check

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Pinger is a client of Redis.
type Pinger interface {
	Ping(ctx context.Context) *redis.StatusCmd
}

// Redis checks everything that a consumer needs of Redis.
type Redis struct {
	Client  Pinger
	Address string // for messages, without a password
	// Memory reports Redis' policy for a full memory; it fails if that would cost rows.
	Memory func(ctx context.Context) (found string, err error)
	// Load loads the version that CURRENT names as a consumer would, and describes it. Its error may give advice, by a
	// method Advice() string.
	Load func(ctx context.Context) (found string, err error)
	// Advice returns the advice for an error by which Redis refuses this client, "" for any other.
	Advice func(err error) string
	// Timeout is the limit of the first answer.
	Timeout time.Duration
}

// Run makes all checks and reports each result as soon as it is there.
func (r *Redis) Run(ctx context.Context, report func(Result)) {
	what := "redis " + r.Address
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	err := r.Client.Ping(limited).Err()
	cancel()
	if err != nil {
		report(result(what, "", r.explain(err)))
		report(Result{Skipped, "redis version", "Redis cannot be asked", ""})
		return
	}
	report(result(what, "answers", nil))
	memory, err := r.Memory(ctx)
	if err != nil {
		report(result("redis memory", "", r.explain(err)))
	} else {
		report(result("redis memory", memory, nil))
	}
	found, err := r.Load(ctx)
	if err != nil {
		p := r.explain(err)
		if own := interface{ Advice() string }(nil); errors.As(err, &own) {
			p.do = cmp.Or(p.do, own.Advice())
		}
		p.do = cmp.Or(p.do, "publish a version: trainer publish; trainer versions lists what is there")
		report(result("redis version", "", p))
		return
	}
	report(result("redis version", found, nil))
}

const speaks = "whether this port speaks TLS where TLS is tried, and plaintext where it is not"

// explain describes a failure; do is empty if it is not about the connection or rights.
func (r *Redis) explain(err error) *problem {
	text := err.Error()
	var dial *net.OpError
	var unknown *net.DNSError
	has := func(words ...string) bool { return Mentions(text, words...) }
	if p := certificate(err); p != nil {
		p.do = strings.Replace(p.do, "%s", "redis.tls.", 1)
		return p
	}
	switch {
	case has("WRONGPASS", "invalid password", "invalid username-password"):
		return &problem{"wrong password or unknown user: " + text, r.Advice(err)}
	case has("NOAUTH"):
		return &problem{"it wants a password: " + text, r.Advice(err)}
	case has("NOPERM"):
		return &problem{"missing ACL: " + text, r.Advice(err)}
	case has("first record does not look like a TLS handshake"):
		return &problem{"it speaks plaintext on this port, and TLS was tried",
			"write redis:// for rediss://, or use its TLS port"}
	case errors.As(err, &unknown), errors.As(err, &dial) && dial.Op == "dial":
		return unreachable(r.Address, err, r.Timeout)
	case isTimeout(err):
		return &problem{"no answer within its time-out: " + text, "look whether Redis hangs, and " + speaks}
	case isClosed(err):
		return &problem{"it closes the connection: " + text, "look " + speaks}
	}
	return &problem{text, r.Advice(err)}
}
