package kafka

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func timeOf(stamp int64) time.Time { return time.UnixMilli(stamp) }

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
		text := fmt.Sprintf("Timestamp %d of message with offset 0 is out of range. The timestamp should be within [%d, %d]", c.stamp, now-c.before, now+c.after)
		s := readSpan(text, time.UnixMilli(5))
		if s == nil {
			t.Errorf("%s: nothing is found in %q", name, text)
			continue
		}
		if got := s.fit(c.stamp, 0); got != c.want || s.broker != c.broker {
			t.Errorf("%s: %d becomes %d, want %d; the broker's time is %d, want %d", name, c.stamp, got, c.want, s.broker, c.broker)
		}
		if c.stamp != c.want {
			if got := s.fit(c.stamp+hour, hour); got != c.want+hour {
				t.Errorf("%s: an hour later it becomes %d, want %d", name, got, c.want+hour)
			}
		}
	}
	for _, text := range []string{"", "The timestamp of the message is out of acceptable range.", "within [1, x]", "within [7, 3]",
		"within [99999999999999999999, 3]"} {
		if s := readSpan(text, time.Now()); s != nil {
			t.Errorf("%q is taken for %+v", text, s)
		}
	}
}

// skewed is a clock that is wrong for a while.
type skewed struct {
	SystemClock
	by *time.Duration
}

func (s skewed) Now() time.Time { return time.Now().Add(*s.by) }

// strict has the brokers refuse timestamps that are an hour ahead. What they say of it is up to the test.
func strict(say func(stamp, now int64) string) func(*kmsg.RecordBatch, *kmsg.ProduceResponseTopicPartition) {
	return func(batch *kmsg.RecordBatch, p *kmsg.ProduceResponseTopicPartition) {
		if now := time.Now().UnixMilli(); batch.MaxTimestamp > now+hour {
			text := say(batch.MaxTimestamp, now)
			p.ErrorCode, p.ErrorMessage = kerr.InvalidTimestamp.Code, &text
		}
	}
}

// The first batch is refused; it and the next ones get the broker's time, with one warning.
func TestAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	by := 90 * time.Minute
	var log bytes.Buffer
	b.with.Clock, b.with.Logger = skewed{by: &by}, slog.New(slog.NewTextHandler(&log, nil))
	refused := 0
	b.judged(strict(func(stamp, now int64) string {
		refused++
		return fmt.Sprintf("Timestamp %d is out of range. The timestamp should be within [%d, %d]", stamp, now-math.MaxInt64, now+hour)
	}))
	s := b.sink()
	for k := range 3 {
		if err := s.Send(t.Context(), "predictions", numbered(10*k, 10*(k+1))); err != nil {
			t.Fatal(err)
		}
	}
	b.check(30)
	for k, r := range b.read("predictions", 0) {
		if d := time.Since(time.UnixMilli(r.Stamp)); d < -time.Minute || d > time.Minute {
			t.Errorf("record %d is of %v ago", k, d)
		}
	}
	if refused != 1 || strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "ahead=1h30m0s") {
		t.Errorf("%d batches were refused; logged:\n%s", refused, log.String())
	}
}

// Once the clock has been set right it is taken again: what the broker said goes on by the time that has passed.
func TestAClockThatIsSetRight(t *testing.T) {
	t.Parallel()
	told, clock := time.Now(), time.Duration(0)
	s := &Sink{clock: skewed{by: &clock}}
	s.allowed.Store(&span{low: math.MinInt64 / 4, high: told.UnixMilli() + hour, broker: told.UnixMilli() - 1000, since: told})
	if now := s.now().UnixMilli(); now < told.UnixMilli() {
		t.Errorf("the time is %d, want the clock's, %d or later", now, told.UnixMilli())
	}
}

// Where a broker does not say what it takes, a batch goes without timestamps: every topic takes that.
func TestBrokersThatDoNotSayWhichTimestampsTheyTake(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	by := 90 * time.Minute
	b.with.Clock = skewed{by: &by}
	b.judged(strict(func(int64, int64) string { return "" }))
	if err := b.sink().Send(t.Context(), "predictions", numbered(0, 10)); err != nil {
		t.Fatal(err)
	}
	b.check(10)
	for k, r := range b.read("predictions", 0) {
		if r.Stamp != noTimestamp {
			t.Errorf("record %d has the timestamp %d", k, r.Stamp)
		}
	}
}
