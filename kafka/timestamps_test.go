package kafka

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

const hour = int64(time.Hour / time.Millisecond)

// skewed is a clock that is wrong by some nanoseconds.
type skewed struct {
	retry.SystemClock
	by *atomic.Int64
}

func (s skewed) Now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

// strict has the brokers refuse timestamps that are an hour ahead. What they say of it is up to the test.
func strict(say func(stamp, now int64) string) func(*kmsg.RecordBatch, *kmsg.ProduceResponseTopicPartition) {
	return func(batch *kmsg.RecordBatch, p *kmsg.ProduceResponseTopicPartition) {
		if now := time.Now().UnixMilli(); batch.MaxTimestamp > now+hour {
			text := say(batch.MaxTimestamp, now)
			p.ErrorCode, p.ErrorMessage = kerr.InvalidTimestamp.Code, &text
		}
	}
}

// A clock that is ahead is waited for. Once it is right, the records that waited are published with its time.
func TestAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	var by atomic.Int64
	by.Store(int64(90 * time.Minute))
	var log bytes.Buffer
	b.with.Clock, b.with.Logger = skewed{by: &by}, slog.New(slog.NewTextHandler(&log, nil))
	refused := 0
	b.judged(strict(func(stamp, now int64) string {
		if refused++; refused == 5 {
			by.Store(0)
		}
		return fmt.Sprintf("Timestamp %d is out of range. The timestamp should be within [%d, %d]", stamp, now-math.MaxInt64,
			now+hour)
	}))
	expect.OK(t, b.sink().Send(t.Context(), "predictions", numbered(0, 30)))
	b.check(30)
	for k, r := range b.read("predictions", 0) {
		if d := time.Since(time.UnixMilli(r.Stamp)); d < -time.Minute || d > time.Minute {
			t.Errorf("record %d is of %v ago", k, d)
		}
	}
	if lines := log.String(); refused != 5 || strings.Count(lines, "level=WARN") != 1 ||
		!strings.Contains(lines, "this machine's clock says") || !strings.Contains(lines, "the broker's 20") {
		t.Errorf("%d batches were refused; logged:\n%s", refused, lines)
	}
}

// Records that bring timestamps keep them: they wait until the topic takes them, and the error names both.
func TestTimestampsOfRecordsAreWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	b.judged(strict(func(int64, int64) string { return "" }))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := b.sink().Send(ctx, "predictions", []Record{{Value: []byte("x"), Time: time.UnixMilli(32503680000000)}})
	expect.Error(t, err, "the records bring timestamps such as 3000-01-01T00:00:00Z")
	expect.Error(t, err, "the broker does not say")
	if retry.Judge(err) != retry.Retriable {
		t.Errorf("%v is not waited for", err)
	}
	expect.Error(t, err, kafkago.InvalidTimestamp.Error())
}

// Kafka's words, with the limits that it has by default, and as topics may set them.
func TestWhatBrokersSayOfTheirClocks(t *testing.T) {
	t.Parallel()
	const now = int64(1795357444000)
	for text, want := range map[string]string{
		fmt.Sprintf("should be within [%d, %d]", now-math.MaxInt64, now+hour): "the broker's 2026-11-22T14:24:04Z",
		fmt.Sprintf("should be within [%d,%d]", now-hour, now+hour): "the broker takes timestamps from " +
			"2026-11-22T13:24:04Z to 2026-11-22T15:24:04Z",
		"":                                    "the broker does not say what its clock says",
		"within [1, x]":                       "the broker does not say what its clock says",
		"within [99999999999999999999999, 3]": "the broker does not say what its clock says",
	} {
		expect.Same(t, want, brokersClock(text), "%q", text)
	}
}
