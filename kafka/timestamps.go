package kafka

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// noTimestamp is the timestamp of a record that has none. Every topic takes it.
const noTimestamp = -1

// span is what a broker said about the timestamps that a topic takes, all in milliseconds. It moves on with the
// broker's clock.
type span struct {
	low, high int64
	// broker is the broker's time when it said so, 0 where that cannot be told.
	broker int64
	// since is when it was said, by this process' clock. Its monotonic part counts: setting the clock moves no span.
	since time.Time
}

// said finds the limits in a refusal, as "The timestamp should be within [-9223370241497, 1795361043982]".
var said = regexp.MustCompile(`within \[(-?\d+), ?(-?\d+)\]`)

// readSpan reads what a broker said; nil where it did not say it. The limits are the broker's time less
// message.timestamp.before.max.ms, and that time plus message.timestamp.after.max.ms. One of the two that is not set
// is the largest number there is, which gives the broker's time away.
func readSpan(text string, now time.Time) *span {
	found := said.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	low, lowErr := strconv.ParseInt(found[1], 10, 64)
	high, highErr := strconv.ParseInt(found[2], 10, 64)
	if lowErr != nil || highErr != nil {
		return nil
	}
	s := &span{low: low, high: high, since: now}
	const longAgo = math.MinInt64 / 2
	switch {
	case low < longAgo:
		s.broker = low + math.MaxInt64
	case high < longAgo: // the sum was beyond the largest number
		s.broker, s.high = high-math.MaxInt64, math.MaxInt64/2
	}
	if s.broker < 0 || s.broker > s.high {
		s.broker = 0 // a limit that somebody set to nearly the largest number
	}
	if s.low > s.high {
		return nil
	}
	return s
}

// margin keeps timestamps off the lower limit, which moves on while a record is on its way.
const margin = int64(time.Minute / time.Millisecond)

// fit returns the timestamp if it is within the span, passed milliseconds after that was said; otherwise the
// broker's time, or the nearest that is allowed where that is not known.
func (s *span) fit(stamp, passed int64) int64 {
	low, high := s.low+passed, s.high+passed
	switch {
	case low <= stamp && stamp <= high:
		return stamp
	case s.broker != 0:
		return s.broker + passed
	case stamp > high:
		return high
	}
	return min(low+margin, low+(high-low)/2)
}

// passed is the time since the broker spoke, in milliseconds.
func (s *span) passed(now time.Time) int64 { return now.Sub(s.since).Milliseconds() }

// now is the time that records get which have none of their own: this process' clock, unless a broker has said that
// it is wrong.
func (s *Sink) now() time.Time {
	now := s.clock.Now()
	allowed := s.allowed.Load()
	if allowed == nil {
		return now
	}
	return time.UnixMilli(allowed.fit(now.UnixMilli(), allowed.passed(now)))
}

// warnEvery is how often a wrong clock is worth a line in the log.
const warnEvery = time.Hour

// learnClock takes note of what a broker said in a refusal, and warns of the difference. It returns nil
// where it said nothing of use.
func (s *Sink) learnClock(at TopicPartition, r *rejection) *span {
	now := s.clock.Now()
	allowed := readSpan(strings.Join(append([]string{r.message}, r.messages...), " "), now)
	if allowed == nil {
		return nil
	}
	before := s.allowed.Swap(allowed)
	if before != nil && now.Sub(before.since) < warnEvery {
		return allowed
	}
	local := now.UnixMilli()
	attrs := []any{"topic", at.Topic, "clock", now.UTC().Format(time.RFC3339)}
	if allowed.broker != 0 {
		attrs = append(attrs, "brokers_clock", time.UnixMilli(allowed.broker).UTC().Format(time.RFC3339),
			"ahead", (time.Duration(local-allowed.broker) * time.Millisecond).Round(time.Second))
	} else {
		nearest := allowed.fit(local, 0)
		attrs = append(attrs, "over_the_limit_by", (time.Duration(local-nearest) * time.Millisecond).Round(time.Second))
	}
	s.log.Warn("timestamps are refused: this machine's clock differs from the brokers'; records get the brokers' time, "+
		"or the nearest that the topic takes", attrs...)
	return allowed
}
