package wire

import (
	"fmt"
	"math"
	"testing"
	"time"
)

const hour = int64(time.Hour / time.Millisecond)

// Kafka's words, with the limits that it has by default, as older versions had them, and as topics may set them.
func TestWhatBrokersSayOfTimestamps(t *testing.T) {
	t.Parallel()
	const now = int64(1795357444000)
	unlimited := int64(math.MaxInt64)
	for name, c := range map[string]struct {
		before, after int64 // of the broker's time
		broker        int64 // what is found to be its time
		stamp, want   int64
	}{
		"ahead":               {unlimited, hour, now, now + 2*hour, now},
		"within":              {unlimited, hour, now, now + hour/2, now + hour/2},
		"behind":              {hour, unlimited, now, now - 2*hour, now},
		"between":             {hour, 2 * hour, 0, now + 3*hour, now + 2*hour},
		"between, and behind": {hour, 2 * hour, 0, now - 3*hour, now - hour + margin},
		"nearly unlimited":    {unlimited - 5, hour, now + 5, now + 2*hour, now + 5},
		"a narrow span":       {1000, 1000, 0, now - hour, now},
	} {
		text := fmt.Sprintf("Timestamp %d of message with offset 0 is out of range. The timestamp should be within [%d, %d]",
			c.stamp, now-c.before, now+c.after)
		s := ReadSpan(text, time.UnixMilli(5))
		if s == nil {
			t.Errorf("%s: nothing is found in %q", name, text)
			continue
		}
		if got := s.Fit(c.stamp, 0); got != c.want || s.Broker != c.broker {
			t.Errorf("%s: %d becomes %d, want %d; the broker's time is %d, want %d", name, c.stamp, got, c.want, s.Broker,
				c.broker)
		}
		if c.stamp != c.want {
			if got := s.Fit(c.stamp+hour, hour); got != c.want+hour {
				t.Errorf("%s: an hour later it becomes %d, want %d", name, got, c.want+hour)
			}
		}
	}
	for _, text := range []string{"", "The timestamp of the message is out of acceptable range.", "within [1, x]",
		"within [7, 3]",
		"within [99999999999999999999, 3]"} {
		if s := ReadSpan(text, time.Now()); s != nil {
			t.Errorf("%q is taken for %+v", text, s)
		}
	}
}
