package check

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Pinger is a client of Redis.
type Pinger interface {
	Ping(ctx context.Context) *redis.StatusCmd
}

// Redis checks what a consumer needs of Redis.
type Redis struct {
	Client  Pinger
	Address string // for messages, without a password
	// Memory reports Redis' policy for a full memory; it fails if that would cost rows.
	Memory func(ctx context.Context) (found string, err error)
	// Load loads the version that serves as a consumer would, and describes it. Its error may give advice, by a
	// method Advice() string.
	Load func(ctx context.Context) (found string, err error)
	// Advice returns the advice for an error by which Redis refuses this client, "" for any other.
	Advice func(err error) string
	// Timeout is the limit of the first answer.
	Timeout time.Duration
}

// Run makes all checks and reports each result as soon as it is there.
func (r *Redis) Run(ctx context.Context, report func(Result)) {
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	err := r.Client.Ping(limited).Err()
	cancel()
	if err != nil {
		report(Result{Failed, "redis " + r.Address, err.Error(), r.advice(err)})
		report(Result{Skipped, "redis version", "Redis cannot be asked", ""})
		return
	}
	report(Result{OK, "redis " + r.Address, "answers", ""})
	found, err := r.Memory(ctx)
	if err != nil {
		report(Result{Failed, "redis memory", err.Error(), r.advice(err)})
	} else {
		report(Result{OK, "redis memory", found, ""})
	}
	if found, err = r.Load(ctx); err != nil {
		do := r.advice(err)
		if own := interface{ Advice() string }(nil); errors.As(err, &own) {
			do = cmp.Or(do, own.Advice())
		}
		do = cmp.Or(do, "publish a version: trainer publish; trainer versions lists what is there")
		report(Result{Failed, "redis version", err.Error(), do})
		return
	}
	report(Result{OK, "redis version", found, ""})
}

func (r *Redis) advice(err error) string {
	return cmp.Or(r.Advice(err), connectionAdvice(err, "redis.", "redis.url begins with rediss:// then"))
}
