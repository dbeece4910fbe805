package kafka

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/offsetcommit"
)

// trail is what the cursors of a generation have learnt of their partitions, for the marks of the offsets that the
// generation commits. Several goroutines use it; nil knows nothing.
type trail struct {
	mu     sync.Mutex
	ids    map[string]topicID
	epochs map[TopicPartition]epochs
}

// begin forgets everything but the ids of the topics that are read from now on.
func (t *trail) begin(ids map[string]topicID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids, t.epochs = ids, make(map[TopicPartition]epochs)
}

// id returns the id of a topic that is read; zero: it is not known.
func (t *trail) id(topic string) topicID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids[topic]
}

// left reports whether topics that are read have other ids now.
func (t *trail) left(now map[string]topicID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ids) > 0 && !maps.Equal(t.ids, now)
}

// note says that the records of a partition from an offset on are of an epoch.
func (t *trail) note(at TopicPartition, first int64, epoch int32) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epochs[at] = t.epochs[at].add(first, epoch)
}

// mark returns what to commit beside the next offset of a partition.
func (t *trail) mark(at TopicPartition, next int64) mark {
	if t == nil {
		return mark{epoch: -1}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return mark{topic: t.ids[at.Topic], epoch: t.epochs[at].of(next)}
}

// commitTimeout is how long a coordinator may take to store offsets.
const commitTimeout = 10 * time.Second

// commitMarked stores offsets with their marks for a member of a group. coordinator is a broker's id, or -1: it is
// asked for first, and returned.
func (c *Client) commitMarked(ctx context.Context, by Member, next Offsets, coordinator int32) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if coordinator < 0 {
		m, err := c.transport.RoundTrip(ctx, c.addr, &findcoordinator.Request{Key: by.Group})
		if err == nil {
			err = failure(m.(*findcoordinator.Response).ErrorCode)
		}
		if err != nil {
			return -1, fmt.Errorf("asking for the coordinator: %w", err)
		}
		coordinator = m.(*findcoordinator.Response).NodeID
	}
	req := &offsetcommit.Request{GroupID: by.Group, GenerationID: by.Generation, MemberID: by.ID,
		RetentionTimeMs: -1}
	for topic, ids := range byTopic(maps.Keys(next)) {
		t := offsetcommit.RequestTopic{Name: topic}
		for _, id := range ids {
			at := TopicPartition{topic, int(id)}
			m := by.trail.mark(at, next[at])
			t.Partitions = append(t.Partitions, offsetcommit.RequestPartition{PartitionIndex: id, CommittedOffset: next[at],
				CommittedLeaderEpoch: m.epoch, CommittedMetadata: cmp.Or(m.metadata(), by.note)})
		}
		req.Topics = append(req.Topics, t)
	}
	m, err := c.transport.RoundTrip(ctx, c.addr, &commitTo{Request: req, broker: coordinator,
		clientID: c.dialer.ClientID})
	if err != nil {
		return -1, err
	}
	for _, t := range m.(*offsetcommit.Response).Topics {
		for _, p := range t.Partitions {
			if err := failure(p.ErrorCode); err != nil {
				return -1, fmt.Errorf("the offset of %s/%d: %w", t.Name, p.PartitionIndex, err)
			}
		}
	}
	return coordinator, nil
}

// commitTo is an OffsetCommit to a coordinator that is known: the transport would ask for it before each.
type commitTo struct {
	*offsetcommit.Request
	broker   int32
	clientID string
	version  int16
}

// Broker makes the transport ask the coordinator.
func (c *commitTo) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	b, ok := cluster.Brokers[c.broker]
	if !ok {
		return b, fmt.Errorf("broker %d, the coordinator of group %s, is not in the cluster", c.broker, c.GroupID)
	}
	return b, nil
}

// Required makes the transport call RawExchange.
func (c *commitTo) Required(versions map[protocol.ApiKey]int16) bool {
	c.version = versions[protocol.OffsetCommit]
	return true
}

// RawExchange sends the request as the library does.
func (c *commitTo) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	return protocol.RoundTrip(rw, c.version, 1, c.clientID, c.Request)
}
