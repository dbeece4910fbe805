package wire

import (
	"math"
	"regexp"
	"strconv"
	"time"
)

// Span holds the limits that a broker names for a topic's timestamps, in milliseconds. They move on with the broker's
// clock.
type Span struct {
	low, high int64
	// Broker is the broker's time when it named the span, 0 where that cannot be told.
	Broker int64
	// Since is when the span was named, by this process' clock. Its monotonic part counts, so that setting the clock
	// moves no span.
	Since time.Time
}

// limits finds the limits in a refusal, as "The timestamp should be within [-9223370241497, 1795361043982]".
var limits = regexp.MustCompile(`within \[(-?\d+), ?(-?\d+)\]`)

// ReadSpan reads the span in a broker's message, nil where there is none. The limits are the broker's time less
// message.timestamp.before.max.ms, and that time plus message.timestamp.after.max.ms. A setting at its default is the
// largest number there is, so that the limit gives the broker's time away.
func ReadSpan(text string, now time.Time) *Span {
	found := limits.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	low, lowErr := strconv.ParseInt(found[1], 10, 64)
	high, highErr := strconv.ParseInt(found[2], 10, 64)
	if lowErr != nil || highErr != nil {
		return nil
	}
	s := &Span{low: low, high: high, Since: now}
	const longAgo = math.MinInt64 / 2
	switch {
	case low < longAgo:
		s.Broker = low + math.MaxInt64
	case high < longAgo: // the sum was beyond the largest number
		s.Broker, s.high = high-math.MaxInt64, math.MaxInt64/2
	}
	if s.Broker < 0 || s.Broker > s.high {
		s.Broker = 0 // a limit that was set to nearly the largest number
	}
	if s.low > s.high {
		return nil
	}
	return s
}

// margin keeps timestamps off the lower limit, which moves on while a record is on its way.
const margin = int64(time.Minute / time.Millisecond)

// Fit returns the timestamp if it is within the span, passed milliseconds after the span was named. Otherwise it
// returns the broker's time, or where that is not known the nearest time that is allowed.
func (s *Span) Fit(stamp, passed int64) int64 {
	low, high := s.low+passed, s.high+passed
	switch {
	case low <= stamp && stamp <= high:
		return stamp
	case s.Broker != 0:
		return s.Broker + passed
	case stamp > high:
		return high
	}
	return min(low+margin, low+(high-low)/2)
}

// Passed is the time since the broker named the span, in milliseconds.
func (s *Span) Passed(now time.Time) int64 { return now.Sub(s.Since).Milliseconds() }
