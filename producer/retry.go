package producer

import (
	"context"
	"errors"
	"sync"
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
		kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.SecurityDisabled,
		kafka.TransactionalIDAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.InvalidGroupId,
		kafka.InvalidTransactionTimeout, kafka.OffsetMetadataTooLarge:
		return true
	}
	return false
}

// Codes that kafka-go has no name for, or another one.
const (
	operationNotAttempted kafka.Error = 55 // another partition of the request failed
	transactionAbortable  kafka.Error = 120
)

// over tells errors after which a transaction cannot be committed: its producer has been fenced by another one, the
// member is no longer in the group's generation, or the brokers have given the transaction up.
func over(err error) bool {
	var code kafka.Error
	if !errors.As(err, &code) {
		return false
	}
	switch code {
	case kafka.InvalidProducerEpoch, kafka.ProducerFenced,
		kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.RebalanceInProgress, kafka.FencedInstanceID,
		kafka.OutOfOrderSequenceNumber, kafka.UnknownProducerId, kafka.InvalidProducerIDMapping,
		kafka.InvalidTransactionState, transactionAbortable:
		return true
	}
	return false
}

// fenced tells whether another producer has taken over the transactional id.
func fenced(err error) bool {
	return errors.Is(err, kafka.InvalidProducerEpoch) || errors.Is(err, kafka.ProducerFenced)
}

// final tells errors that end the attempts.
func final(err error) bool { return permanent(err) || over(err) }

// retry calls attempt until it succeeds, fails for good, or ctx ends. What the first repetition mends is not worth a word
// in the log; brokers that look at a producer for the first time send it away like this.
func (p *Producer) retry(ctx context.Context, attempt func() error) (err error) {
	pause, waiting := firstPause, false
	defer func() {
		if waiting {
			p.waiting.over(p, err)
		}
	}()
	for first := true; ; first = false {
		if err = attempt(); err == nil || final(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if !first && !waiting {
			waiting = true
			p.waiting.begin(p, err)
		}
		p.opts.OnRetry(err)
		if p.pause(ctx, pause) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		pause = min(2*pause, longestPause)
	}
}

// outage is what a producer is waiting for, in any of its goroutines. The log has one line when the waiting begins and one
// when it is over.
type outage struct {
	mu    sync.Mutex
	calls int
	since time.Time
}

func (o *outage) begin(p *Producer, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls++; o.calls == 1 {
		o.since = p.opts.Clock.Now()
		p.opts.Logger.Warn("waiting to publish", "error", err)
	}
}

func (o *outage) over(p *Producer, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls--; o.calls == 0 && err == nil {
		p.opts.Logger.Info("publishing again", "after", p.opts.Clock.Now().Sub(o.since).Round(time.Millisecond))
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
