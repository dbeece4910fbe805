package consumer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// Pauses between attempts double from firstPause to longestPause; each is spread over its upper half.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// outage follows one thing that may fail for a while: it says so once when it begins and once when it is over, and
// makes the pauses between attempts longer.
type outage struct {
	stage    string
	observer Observer
	logger   *slog.Logger
	clock    Clock
	rand     func() float64

	mu    sync.Mutex
	since time.Time // zero while all is well
	pause time.Duration
}

func (c *Consumer) outage(stage string, attrs ...any) *outage {
	return &outage{stage: stage, observer: c.opts.Path.Observer, logger: c.opts.Logger.With(attrs...),
		clock: c.opts.Path.Clock, rand: c.opts.Rand}
}

// failed reports err and waits before the next attempt. It returns an error only where ctx has ended.
func (o *outage) failed(ctx context.Context, err error) error {
	o.observer.Retry(o.stage, err)
	o.mu.Lock()
	if o.since.IsZero() {
		o.since, o.pause = o.clock.Now(), firstPause
		o.logger.Warn("waiting for "+o.stage, "error", err)
	} else {
		o.pause = min(2*o.pause, longestPause)
	}
	d := o.pause/2 + time.Duration(o.rand()*float64(o.pause/2))
	o.mu.Unlock()
	return sleep(ctx, o.clock, d)
}

// over ends the outage, if there was one.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		o.logger.Info(o.stage+" is back", "after", o.clock.Now().Sub(o.since).Round(time.Millisecond))
		o.since = time.Time{}
	}
}

// permanent tells errors that no waiting mends: missing rights, wrong passwords.
func permanent(err error) bool {
	var code kafka.Error
	if !errors.As(err, &code) {
		return false
	}
	switch code {
	case kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.IllegalSASLState,
		kafka.InvalidTopic, kafka.InvalidGroupId, kafka.InvalidSessionTimeout, kafka.InconsistentGroupProtocol,
		kafka.UnsupportedVersion:
		return true
	}
	return false
}
