package kafka

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/wire"
)

// topicID tells a topic from one of the same name that was made after it was deleted (KIP-516); zero: not known.
type topicID [16]byte

// topicIDs returns the ids of topics as the cluster knows them now, not as the transport's cache does. It is without
// topics that do not exist. known is false where brokers are older than ids.
func (c *Client) topicIDs(ctx context.Context, topics ...string) (ids map[string]topicID, known bool, err error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
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

// mark is stored beside an offset, so that the next reader of the partition sees whether the offset belongs to the
// present topic and log.
type mark struct {
	topic topicID // zero: not known
	epoch int32   // leader epoch of the record before the offset; -1: not known
	// resume is beside an offset from which records are read again; zero: none are.
	resume Resume
}

// markPrefix begins the metadata of the offsets that Rivulet commits: "rivulet topic=ID", "rivulet topic=ID next=7
// aside=9" where records are read again, or "rivulet next=7 aside=9" where the topic's id is not known.
const markPrefix = "rivulet"

// metadata is how a mark is written; empty where nothing is known.
func (m mark) metadata() string {
	text := markPrefix
	if m.topic != (topicID{}) {
		text += " topic=" + base64.RawURLEncoding.EncodeToString(m.topic[:])
	}
	if m.resume != (Resume{}) {
		text += fmt.Sprintf(" next=%d aside=%d", m.resume.Next, m.resume.Aside)
	}
	if text == markPrefix {
		return ""
	}
	return text
}

// markOf reads a stored mark. The epoch counts only beside a topic id: other clients commit 0 for an unknown epoch.
func markOf(metadata string, epoch int32) mark {
	text, ours := strings.CutPrefix(metadata, markPrefix+" ")
	m := mark{epoch: -1}
	if !ours {
		return m
	}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		number, err := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "topic":
			id, err := base64.RawURLEncoding.DecodeString(value)
			if err != nil || len(id) != len(topicID{}) {
				return mark{epoch: -1}
			}
			m.topic, m.epoch = topicID(id), epoch
		case err != nil || number < 0:
			return mark{epoch: -1}
		case name == "next":
			m.resume.Next = number
		case name == "aside":
			m.resume.Aside = number
		}
	}
	return m
}

// epochs says in which leader's epoch the records of one partition were written.
type epochs []wire.EpochStart

// mostEpochs is how many changes of leaders are remembered for records that are not committed yet.
const mostEpochs = 64

// add notes that the records from an offset on are of an epoch.
func (e epochs) add(first int64, epoch int32) epochs {
	e = slices.DeleteFunc(e, func(s wire.EpochStart) bool { return s.First >= first }) // after a truncation
	if len(e) > 0 && e[len(e)-1].Epoch == epoch {
		return e
	}
	if len(e) == mostEpochs {
		e = slices.Delete(e, 0, 1)
	}
	return append(e, wire.EpochStart{First: first, Epoch: epoch})
}

// of returns the epoch of the record before an offset; -1: not known.
func (e epochs) of(next int64) int32 {
	for _, s := range slices.Backward(e) {
		if s.First < next {
			return s.Epoch
		}
	}
	return -1
}
