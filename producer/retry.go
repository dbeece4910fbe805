package producer

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
)

// Pauses between attempts double from firstPause to longestPause; each is spread over its upper half.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// permanent tells errors that the same request will meet again. Everything else is waited for: brokers come back,
// leaders are elected, topics are created.
func permanent(err error) bool {
	var code kafka.Error
	if !errors.As(err, &code) {
		return false
	}
	switch code {
	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge, kafka.InvalidTopic, kafka.InvalidRequiredAcks,
		kafka.InvalidTimestamp, kafka.UnsupportedVersion, kafka.UnsupportedForMessageFormat, kafka.InvalidRecord,
		kafka.UnsupportedCompressionType, kafka.TopicAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.SecurityDisabled:
		return true
	}
	return false
}

// retry calls attempt until it succeeds, fails for good, or ctx ends. The log has one line when the waiting begins and one
// when it is over.
func (p *Producer) retry(ctx context.Context, attempt func() error) error {
	pause := firstPause
	var since time.Time
	for {
		err := attempt()
		if err == nil && !since.IsZero() {
			p.opts.Logger.Info("publishing again", "after", p.opts.Clock.Now().Sub(since).Round(time.Millisecond))
		}
		if err == nil || permanent(err) {
			return err
		}
		if since.IsZero() {
			since = p.opts.Clock.Now()
			p.opts.Logger.Warn("waiting to publish", "error", err)
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		p.opts.OnRetry(err)
		if p.pause(ctx, pause) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		pause = min(2*pause, longestPause)
	}
}

func (p *Producer) pause(ctx context.Context, d time.Duration) error {
	fired, stop := p.opts.Clock.NewTimer(d/2 + time.Duration(p.opts.Rand()*float64(d/2)))
	defer stop()
	select {
	case <-fired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
