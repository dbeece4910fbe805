package world

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/test/harness"
)

// BrokerLimit is the largest batch of records that brokers take by default, in bytes.
const BrokerLimit = 1_048_588

// HeaderProbe marks a record of this program's own.
const HeaderProbe = "chaos-probe"

// Probe sends one record to a topic, by a client of its own: one that has seen the leader die may ask that broker
// again for minutes. An idempotent client would go on for as long as replicas are missing.
func (w *World) Probe(ctx context.Context, topic string, one kgo.Record) error {
	prober, err := kgo.NewClient(kgo.SeedBrokers(w.Kafka.Addrs...), kgo.ProducerBatchMaxBytes(BrokerLimit),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DisableIdempotentWrite(), kgo.RecordRetries(0))
	if err != nil {
		return err
	}
	defer prober.Close()
	one.Topic, one.Headers = topic, []kgo.RecordHeader{{Key: HeaderProbe, Value: []byte("1")}}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return prober.ProduceSync(ctx, &one).FirstErr()
}

// Listens reports whether a broker takes connections.
func Listens(ctx context.Context, b harness.Broker) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", b.Addr(harness.Plaintext))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// InSync reports whether each partition of every topic has a leader and all of its replicas in sync.
func (w *World) InSync(ctx context.Context) bool {
	topics, err := w.Kafka.ListTopicsWithInternal(ctx)
	if err != nil {
		return false
	}
	for _, topic := range topics {
		for _, p := range topic.Partitions {
			if p.Err != nil || p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
				return false
			}
		}
	}
	return true
}

// DeleteRecords deletes records before offsets, and tries again while replicas do not follow in time.
func (w *World) DeleteRecords(ctx context.Context, limit time.Duration, upTo kadm.Offsets) (
	deleted kadm.DeleteRecordsResponses, err error) {
	var last error
	err = harness.Await(ctx, limit, "records are deleted", func() bool {
		deleted, last = w.Kafka.DeleteRecords(ctx, upTo)
		last = errors.Join(last, deleted.Error())
		return last == nil
	})
	if err != nil {
		err = errors.Join(err, last)
	}
	return deleted, err
}

// Ends returns where each partition of a topic ends, or up to n records before.
func (w *World) Ends(ctx context.Context, topic string, n func() int64) (kadm.Offsets, error) {
	first, err := w.Kafka.ListStartOffsets(ctx, topic)
	last, failed := w.Kafka.ListEndOffsets(ctx, topic)
	offsets := kadm.Offsets{}
	last.Each(func(o kadm.ListedOffset) {
		begin, _ := first.Lookup(topic, o.Partition)
		offsets.Add(kadm.Offset{Topic: topic, Partition: o.Partition, At: max(begin.Offset, o.Offset-n()), LeaderEpoch: -1})
	})
	return offsets, errors.Join(err, failed, first.Error(), last.Error())
}

// Assign gives each partition of a topic these replicas.
func (w *World) Assign(ctx context.Context, topic string, replicas ...int32) error {
	topics, err := w.Kafka.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	var change kadm.AlterPartitionAssignmentsReq
	for p := range topics[topic].Partitions {
		change.Assign(topic, p, replicas)
	}
	answer, err := w.Kafka.AlterPartitionAssignments(ctx, change)
	return errors.Join(err, answer.Error())
}

// Led reports whether a broker leads each partition of a topic, with so many replicas in sync.
func (w *World) Led(ctx context.Context, topic string, by int32, inSync int) bool {
	topics, err := w.Kafka.ListTopics(ctx, topic)
	if err != nil {
		return false
	}
	for _, p := range topics[topic].Partitions {
		if p.Err != nil || p.Leader != by || len(p.ISR) != inSync {
			return false
		}
	}
	return len(topics[topic].Partitions) > 0
}

// Elect makes living replicas the leaders, whatever records they lack, and reports whether the brokers were asked.
func (w *World) Elect(ctx context.Context, topic string) bool {
	topics, err := w.Kafka.ListTopics(ctx, topic)
	if err != nil {
		return false
	}
	_, err = w.Kafka.ElectLeaders(ctx, kadm.ElectLiveReplica, topics.TopicsSet())
	return err == nil
}
