package mapping

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisOptions say how to reach Redis. Where a field is zero, what the URL's query says holds (read_timeout=1s,
// pool_size=32, …), and else the default.
type RedisOptions struct {
	// URL is redis://user:password@host:port/database, rediss://… with TLS, or unix:///path?db=0. It has no default.
	URL string
	// DialTimeout bounds one attempt to connect; default 5s.
	DialTimeout time.Duration
	// ReadTimeout and WriteTimeout bound the waiting for one answer and for sending one request, a pipeline being one
	// of either; default 3s.
	ReadTimeout, WriteTimeout time.Duration
	// PoolSize is the number of connections at most; default ten for each CPU.
	PoolSize int
	// PoolTimeout bounds the waiting for a free connection; default 4s.
	PoolTimeout time.Duration
	// MaxRetries is how often a command is tried again after a lost connection or a time-out; default 3, −1 never.
	MaxRetries int
	// MinBackoff and MaxBackoff bound the pause before a retry, which doubles and is drawn at random; default 20ms
	// and 500ms.
	MinBackoff, MaxBackoff time.Duration
}

// Connect makes a client. It does not reach out yet: the first command does. The caller closes the client.
func Connect(o RedisOptions) (redis.UniversalClient, error) {
	if o.URL == "" {
		return nil, errors.New("redis url is empty, want redis://host:port/database")
	}
	options, err := redis.ParseURL(o.URL)
	if err != nil {
		// The reason would quote what could not be read, which may be the password.
		return nil, errors.New("redis url cannot be read, want redis://user:password@host:port/database (special characters percent-encoded), rediss://… or unix://…")
	}
	choose(&options.DialTimeout, o.DialTimeout, 5*time.Second)
	choose(&options.ReadTimeout, o.ReadTimeout, 3*time.Second)
	choose(&options.WriteTimeout, o.WriteTimeout, 3*time.Second)
	choose(&options.PoolSize, o.PoolSize, 10*runtime.GOMAXPROCS(0))
	choose(&options.PoolTimeout, o.PoolTimeout, 4*time.Second)
	choose(&options.MaxRetries, o.MaxRetries, 3)
	choose(&options.MinRetryBackoff, o.MinBackoff, 20*time.Millisecond)
	choose(&options.MaxRetryBackoff, o.MaxBackoff, 500*time.Millisecond)
	// A dial that fails is retried with its command, not once more inside of it.
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	// Nothing is used of what newer servers offer on connecting, and an ACL need not allow it.
	options.Protocol = 2
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	silence()
	return redis.NewClient(options), nil
}

// choose sets what the URL left open.
func choose[T comparable](field *T, chosen, byDefault T) {
	var zero T
	switch {
	case chosen != zero:
		*field = chosen
	case *field == zero:
		*field = byDefault
	}
}

// silence stops the client library from printing to standard error: what it says there also comes back as an error,
// which is where it is judged.
var silence = sync.OnceFunc(func() { redis.SetLogger(quiet{}) })

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}
