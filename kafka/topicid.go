package kafka

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
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
	ahead  int32 // leader epoch of the last record before the offsets of resume; -1: not known
}

// noMark is the mark of an offset about which nothing more is known.
var noMark = mark{epoch: -1, ahead: -1}

// markPrefix begins the metadata of the offsets that Rivulet commits: "rivulet topic=ID", "rivulet topic=ID next=7
// aside=9 epoch=2 note=x" where records are read again. What is not known is left out.
const markPrefix = "rivulet"

// metadata writes a mark; empty: nothing is known.
func (m mark) metadata() string {
	text := markPrefix
	if m.topic != (topicID{}) {
		text += " topic=" + base64.RawURLEncoding.EncodeToString(m.topic[:])
	}
	if m.resume != (Resume{}) {
		text += fmt.Sprintf(" next=%d aside=%d", m.resume.Next, m.resume.Aside)
		if m.ahead >= 0 {
			text += fmt.Sprintf(" epoch=%d", m.ahead)
		}
		if m.resume.Note != "" {
			text += " note=" + m.resume.Note
		}
	}
	if text == markPrefix {
		return ""
	}
	return text
}

// markOf reads a stored mark. The epoch counts only beside a topic id: other clients commit 0 for an unknown epoch.
func markOf(metadata string, epoch int32) mark {
	text, ours := strings.CutPrefix(metadata, markPrefix+" ")
	m := noMark
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
				return noMark
			}
			m.topic, m.epoch = topicID(id), epoch
		case name == "note":
			m.resume.Note = value
		case err != nil || number < 0:
			return noMark
		case name == "next":
			m.resume.Next = number
		case name == "aside":
			m.resume.Aside = number
		case name == "epoch":
			m.ahead = int32(min(number, math.MaxInt32))
		}
	}
	return m
}
