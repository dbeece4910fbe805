package kafka

import (
	"strings"
	"time"

	"rivulet/kafka/wire"
)

// now is the time of records that have none of their own: this process' clock, unless a broker has refused it.
func (s *Sink) now() time.Time {
	now := s.clock.Now()
	allowed := s.allowed.Load()
	if allowed == nil {
		return now
	}
	return time.UnixMilli(allowed.Fit(now.UnixMilli(), allowed.Passed(now)))
}

// warnEvery is how often a wrong clock is worth a line in the log.
const warnEvery = time.Hour

// learnClock stores the limits that a broker's refusal names, and warns of the clocks' difference. It returns nil if
// the refusal names no limits.
func (s *Sink) learnClock(at TopicPartition, r *rejection) *wire.Span {
	now := s.clock.Now()
	allowed := wire.ReadSpan(strings.Join(append([]string{r.message}, r.messages...), " "), now)
	if allowed == nil {
		return nil
	}
	before := s.allowed.Swap(allowed)
	if before != nil && now.Sub(before.Since) < warnEvery {
		return allowed
	}
	local := now.UnixMilli()
	attrs := []any{"topic", at.Topic, "clock", now.UTC().Format(time.RFC3339)}
	if allowed.Broker != 0 {
		attrs = append(attrs, "brokers_clock", time.UnixMilli(allowed.Broker).UTC().Format(time.RFC3339),
			"ahead", (time.Duration(local-allowed.Broker) * time.Millisecond).Round(time.Second))
	} else {
		nearest := allowed.Fit(local, 0)
		attrs = append(attrs, "over_the_limit_by", (time.Duration(local-nearest) * time.Millisecond).Round(time.Second))
	}
	s.log.Warn("timestamps are refused: this machine's clock differs from the brokers'; records get the brokers' time, "+
		"or the nearest that the topic takes", attrs...)
	return allowed
}
