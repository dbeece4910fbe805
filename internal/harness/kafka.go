package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka asks a broker about topics and groups.
type Kafka struct {
	Addr   string
	client *kgo.Client
}

// NewKafka makes a client of a broker that speaks plaintext. The caller closes it.
func NewKafka(addr string) (*Kafka, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(100*time.Millisecond))
	return &Kafka{Addr: addr, client: client}, err
}

// Close ends its connections.
func (k *Kafka) Close() { k.client.Close() }

// MakeTopics makes topics of so many partitions.
func (k *Kafka) MakeTopics(ctx context.Context, partitions map[string]int) error {
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = 60_000
	for name, n := range partitions {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(n), 1
		request.Topics = append(request.Topics, topic)
	}
	made, err := request.RequestWith(ctx, k.client)
	if err != nil {
		return fmt.Errorf("making topics: %w", err)
	}
	for _, t := range made.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("making topic %s: %w", t.Topic, err)
		}
	}
	return nil
}

// RemoveTopics removes topics.
func (k *Kafka) RemoveTopics(ctx context.Context, names ...string) error {
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TimeoutMillis = 60_000
	request.TopicNames = names
	for _, name := range names {
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	_, err := request.RequestWith(ctx, k.client)
	return err
}

// Ends returns the next offset of each of the partitions of a topic, up to which a reader of everything gets, or one of committed
// records only.
func (k *Kafka) Ends(ctx context.Context, topic string, partitions int, committed bool) ([]int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	if committed {
		request.IsolationLevel = 1
	}
	of := kmsg.NewListOffsetsRequestTopic()
	of.Topic = topic
	for p := range partitions {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = int32(p), -1
		of.Partitions = append(of.Partitions, partition)
	}
	request.Topics = append(request.Topics, of)
	ends := make([]int64, partitions)
	for _, shard := range k.client.RequestSharded(ctx, request) { // a request for each leader
		if shard.Err != nil {
			return nil, shard.Err
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, fmt.Errorf("the end of %s/%d: %w", topic, p.Partition, err)
				}
				ends[p.Partition] = p.Offset
			}
		}
	}
	return ends, nil
}

// Committed returns what a group has committed of each of the partitions of a topic: the next offset to read, 0 if none.
func (k *Kafka) Committed(ctx context.Context, group, topic string, partitions int) ([]int64, error) {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = group
	of := kmsg.NewOffsetFetchRequestTopic()
	of.Topic = topic
	for p := range partitions {
		of.Partitions = append(of.Partitions, int32(p))
	}
	request.Topics = append(request.Topics, of)
	inGroup := kmsg.NewOffsetFetchRequestGroup() // the form of newer versions
	inGroup.Group = group
	newer := kmsg.NewOffsetFetchRequestGroupTopic()
	newer.Topic, newer.Partitions = topic, of.Partitions
	inGroup.Topics = append(inGroup.Topics, newer)
	request.Groups = append(request.Groups, inGroup)
	answer, err := request.RequestWith(ctx, k.client)
	if err != nil {
		return nil, err
	}
	offsets := make([]int64, partitions)
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			offsets[p.Partition] = max(0, p.Offset)
		}
	}
	for _, g := range answer.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				offsets[p.Partition] = max(0, p.Offset)
			}
		}
	}
	return offsets, nil
}

// Stable reports whether a group is settled and has so many members, each of them with partitions.
func (k *Kafka) Stable(ctx context.Context, group string, members int) (bool, error) {
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = []string{group}
	answer, err := request.RequestWith(ctx, k.client)
	if err != nil {
		return false, err
	}
	if len(answer.Groups) != 1 {
		return false, errors.New("the broker does not describe the group " + group)
	}
	assigned := 0
	for _, m := range answer.Groups[0].Members {
		var has kmsg.ConsumerMemberAssignment
		if has.ReadFrom(m.MemberAssignment) == nil && len(has.Topics) > 0 {
			assigned++
		}
	}
	return answer.Groups[0].State == "Stable" && len(answer.Groups[0].Members) == members && assigned == members, nil
}

// Follow gives records to note, one after the other, until stop is called.
func Follow(note func(*kgo.Record), options ...kgo.Opt) (stop func(), err error) {
	reader, err := kgo.NewClient(append([]kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100 * time.Millisecond)}, options...)...)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			fetches := reader.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachRecord(note)
		}
	})
	return func() {
		reader.Close()
		wg.Wait()
	}, nil
}
