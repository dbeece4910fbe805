package run

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/consumer"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
)

// A drain that takes too long ends with an error that says what becomes of the batches in hand, and not which context
// ended.
func TestADrainThatTakesTooLongSaysSo(t *testing.T) {
	k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: topics()})
	expect.OK(t, err)
	defer k.Close()
	cfg, ids := pinnedConfig(t, k.Addrs()...)
	cfg.Shutdown.DrainTimeout = 100 * time.Millisecond
	send(t, cfg, ids)
	refused := make(chan struct{}, 1000)
	k.Cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range r.(*kmsg.ProduceRequest).Topics {
			at := kmsg.NewProduceResponseTopic()
			at.Topic, at.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				failed := kmsg.NewProduceResponseTopicPartition()
				failed.Partition, failed.ErrorCode = p.Partition, kerr.NotEnoughReplicas.Code
				at.Partitions = append(at.Partitions, failed)
			}
			answer.Topics = append(answer.Topics, at)
		}
		select {
		case refused <- struct{}{}:
		default:
		}
		return answer, nil, true
	})
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Consumer(ctx, cfg, slog.New(slog.NewTextHandler(&log, nil)), nil) }()
	<-refused
	cancel()
	err = <-done
	if !errors.Is(err, consumer.ErrDrainTimeout) || !strings.Contains(err.Error(), "is read again") ||
		strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{`level=INFO msg="drain begins`, `level=INFO msg="drain ended" took=`,
		`level=ERROR msg="the consumer has ended with an error" error="the drain timed out`,
		"predictions=0"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in the log:\n%s", want, log.String())
		}
	}
}
