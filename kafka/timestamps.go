package kafka

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// misdated is the error of a batch whose timestamps its topic does not take
// (message.timestamp.before.max.ms and message.timestamp.after.max.ms). It is an outage: one of two clocks is wrong,
// and whoever reads the error needs both to see which.
func (s *Sink) misdated(l *load, r *rejection) error {
	ours := "this machine's clock says " + s.clock.Now().UTC().Format(time.RFC3339)
	if l.dated {
		first, latest := l.current().Times()
		ours = fmt.Sprintf("the records bring timestamps such as %s and %s, ", first.UTC().Format(time.RFC3339),
			latest.UTC().Format(time.RFC3339)) + ours
	}
	return fmt.Errorf("publishing to %s: partition %d: %w: %s, and %s: set the clock that is wrong, or see the topic's "+
		"message.timestamp.before.max.ms and message.timestamp.after.max.ms", l.at.Topic, l.at.Partition,
		kafkago.InvalidTimestamp, ours, brokersClock(strings.Join(append([]string{r.message}, r.messages...), " ")))
}

// limits finds the limits in a refusal, as "The timestamp should be within [-9223370241497, 1795361043982]".
var limits = regexp.MustCompile(`within \[(-?\d+), ?(-?\d+)\]`)

// brokersClock reads the broker's clock from its refusal. The limits are its time less
// message.timestamp.before.max.ms, and its time plus message.timestamp.after.max.ms, in milliseconds. The first one is
// the largest number there is, unless it is set: then its limit gives the time away.
func brokersClock(text string) string {
	found := limits.FindStringSubmatch(text)
	if found == nil {
		return "the broker does not say what its clock says"
	}
	low, err := strconv.ParseInt(found[1], 10, 64)
	high, err2 := strconv.ParseInt(found[2], 10, 64)
	if err != nil || err2 != nil {
		return "the broker does not say what its clock says"
	}
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	if low < math.MinInt64/2 {
		return "the broker's " + at(low+math.MaxInt64)
	}
	return "the broker takes timestamps from " + at(low) + " to " + at(high)
}
