package observe

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/internal/repartition"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// A consumer that also repartitions other topics is ready when both groups are joined and neither stands, and the lag
// of both is there, whichever group is rebalanced.
func TestRepartition(t *testing.T) {
	o, clock := newTestObserver()
	r := o.Repartition()
	arrivals, accounts := kafka.TopicPartition{Topic: "arrivals", Partition: 1},
		kafka.TopicPartition{Topic: "accounts", Partition: 2}
	o.Rebalance([]kafka.TopicPartition{arrivals})
	if err := o.health.ready(); err == nil || err.Error() != "the repartition: the consumer group is not joined" {
		t.Errorf("%v", err)
	}
	r.Rebalance([]kafka.TopicPartition{accounts})
	if err := o.health.ready(); err != nil {
		t.Errorf("both groups are joined: %v", err)
	}
	o.Lag(arrivals, 3)
	r.Lag(accounts, 5)
	o.Rebalance([]kafka.TopicPartition{arrivals})
	o.Lag(arrivals, 4)
	expect.Same(t, map[string]float64{"1": 4, "2": 5}, lags(t, o), "lag by partition")
	stats := repartition.Stats{DeadLetters: []string{event.ReasonUnparsable}, Dropped: []string{kafka.RefusedRecord},
		Times: []time.Time{clock.now}, At: clock.now}
	stats.Outcomes[repartition.Edge], stats.Outcomes[repartition.DeadLetter] = 7, 1
	r.Committed(stats)
	if edges, letters, drops := testutil.ToFloat64(r.records.WithLabelValues("edge")),
		testutil.ToFloat64(o.metrics.deadLetters.WithLabelValues(event.ReasonUnparsable)),
		testutil.ToFloat64(o.metrics.drops.WithLabelValues(kafka.RefusedRecord)); edges != 7 || letters != 1 || drops != 1 {
		t.Errorf("%g edges, %g dead letters, %g dropped records", edges, letters, drops)
	}
	r.Retry(consumer.StagePublish, errors.New("no broker"))
	clock.now = clock.now.Add(readyWithin)
	o.Lag(arrivals, 0)
	if err := o.health.ready(); err == nil ||
		!strings.HasPrefix(err.Error(), "the repartition: the stream has stood for 30s") {
		t.Errorf("%v", err)
	}
	r.Retry(consumer.StageGroup, errors.New("no coordinator"))
	expect.Error(t, o.health.ready(), "group is not joined")
	r.Rebalance([]kafka.TopicPartition{accounts})
	clock.now = clock.now.Add(time.Hour)
	o.Lag(arrivals, 0)
	if err := o.health.alive(); err == nil || !strings.HasPrefix(err.Error(), "the repartition: ") {
		t.Errorf("silent for an hour: %v", err)
	}
}
