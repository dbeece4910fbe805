package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// topicIDs returns the ids of topics as the cluster knows them now, not as the transport's cache does. It is without
// topics that do not exist. known is false where brokers are older than ids.
func (c *Client) topicIDs(ctx context.Context, topics ...string) (ids map[string]topicID, known bool, err error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	const withIDs = 10 // Kafka 2.8
	answer, err := ask[*kmsg.MetadataResponse](ctx, c, req, withIDs, req.MaxVersion(), wire.Target{})
	if err != nil {
		return nil, false, fmt.Errorf("asking for the ids of %s: %w", strings.Join(topics, ", "), err)
	}
	if answer == nil {
		return nil, false, nil
	}
	ids = make(map[string]topicID, len(topics))
	for _, t := range answer.Topics {
		if t.ErrorCode == 0 && t.Topic != nil && t.TopicID != (topicID{}) {
			ids[*t.Topic] = t.TopicID
		}
	}
	return ids, true, nil
}

// topicView is a topic as one broker knows it.
type topicView struct {
	id         topicID // zero: not known
	partitions int
}

// look asks a broker for topics as it knows them now, not as the transport's cache does. Where a topic is missing, or
// has no partitions yet, the error says so, and names a similar one; the others are returned all the same.
func (c *Client) look(ctx context.Context, topics ...string) (views map[string]topicView, err error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	const withoutCreation = 4 // Kafka 0.11: earlier requests have brokers create what they ask for
	answer, err := ask[*kmsg.MetadataResponse](ctx, c, req, withoutCreation, req.MaxVersion(), wire.Target{})
	if err == nil && answer == nil {
		err = kafkago.UnsupportedVersion
	}
	if err != nil {
		return nil, fmt.Errorf("reading the partitions of %s: %w", strings.Join(topics, ", "), err)
	}
	views = make(map[string]topicView, len(topics))
	failures := make(map[string]error, len(topics))
	for _, t := range answer.Topics {
		switch {
		case t.Topic == nil:
		case t.ErrorCode != 0:
			failures[*t.Topic] = wire.Failure(t.ErrorCode)
		case len(t.Partitions) == 0:
			failures[*t.Topic] = kafkago.LeaderNotAvailable
		default:
			views[*t.Topic] = topicView{t.TopicID, len(t.Partitions)}
		}
	}
	var missing []error
	for _, name := range topics {
		if _, found := views[name]; !found {
			missing = append(missing, c.unusable(ctx, name, cmp.Or(failures[name], error(kafkago.UnknownTopicOrPartition))))
		}
	}
	if len(missing) == 1 {
		return views, missing[0]
	}
	slices.SortStableFunc(missing, func(a, b error) int { // a missing right first: it ends the program
		return cmp.Compare(retry.Judge(b), retry.Judge(a))
	})
	return views, errors.Join(missing...)
}

// unusable says why a topic cannot be used. Of one that is missing it names the one that was probably meant, and says
// what to do: Rivulet makes no topics.
func (c *Client) unusable(ctx context.Context, topic string, err error) error {
	if !errors.Is(err, kafkago.UnknownTopicOrPartition) {
		return fmt.Errorf("reading the partitions of %s: %w", topic, err)
	}
	create := ": create it"
	if similar := c.Similar(ctx, topic); similar != "" {
		create = similar + " Correct its name, or create it"
	}
	return fmt.Errorf("the topic %s does not exist%s (kafka-topics.sh --create --topic %s): %w", topic, create, topic, err)
}

// epochEnd asks a partition's leader, in the epoch that it is thought to be in, where the records of an epoch end:
// offsets beyond that are not in the log any more (KIP-320). -1: the leader does not know.
func (c *Client) epochEnd(ctx context.Context, at TopicPartition, leader, epoch int32) (int64, error) {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = int32(at.Partition), leader, epoch
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic, t.Partitions = at.Topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	const consumersToo = 3 // Kafka 2.3; before that Describe on the topic did not do
	answer, err := ask[*kmsg.OffsetForLeaderEpochResponse](ctx, c, req, consumersToo, req.MaxVersion(), wire.Leader(at))
	if err != nil {
		return 0, fmt.Errorf("asking where epoch %d of %s/%d ends: %w", epoch, at.Topic, at.Partition, err)
	}
	if answer == nil {
		return -1, nil
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			switch {
			case t.Topic != at.Topic || int(p.Partition) != at.Partition:
			case p.ErrorCode != 0:
				return 0, fmt.Errorf("asking where epoch %d of %s/%d ends: %w", epoch, at.Topic, at.Partition,
					kafkago.Error(p.ErrorCode))
			default:
				return p.EndOffset, nil
			}
		}
	}
	return 0, fmt.Errorf("asking where epoch %d of %s/%d ends: no answer", epoch, at.Topic, at.Partition)
}
