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

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
	"rivulet/test/expect"
)

const hour = int64(time.Hour / time.Millisecond)

// skewed is a clock that is wrong for a while.
type skewed struct {
	retry.SystemClock
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
		return fmt.Sprintf("Timestamp %d is out of range. The timestamp should be within [%d, %d]", stamp, now-math.MaxInt64,
			now+hour)
	}))
	s := b.sink()
	for k := range 3 {
		expect.OK(t, s.Send(t.Context(), "predictions", numbered(10*k, 10*(k+1))))
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
	s.allowed.Store(wire.ReadSpan(fmt.Sprintf("within [%d, %d]", told.UnixMilli()-1000-math.MaxInt64,
		told.UnixMilli()+hour), told))
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
	expect.OK(t, b.sink().Send(t.Context(), "predictions", numbered(0, 10)))
	b.check(10)
	for k, r := range b.read("predictions", 0) {
		if r.Stamp != -1 {
			t.Errorf("record %d has the timestamp %d", k, r.Stamp)
		}
	}
}
