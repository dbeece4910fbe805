package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Operations of ACLs, as bits of the operations that a broker allows a client.
const (
	MayRead  Operations = 1 << 3
	MayWrite Operations = 1 << 4
)

// Operations are those that a client is allowed; 0 or less: the broker, older than Kafka 2.3, does not tell.
type Operations int32

// Cluster describes a cluster as one broker sees it, for checks.
type Cluster struct {
	Brokers []BrokerAddress
	Topics  map[string]TopicState // those that were asked about
}

// BrokerAddress is a broker as the cluster advertises it.
type BrokerAddress struct {
	ID   int32
	Addr string // host:port
}

// TopicState is the state of a topic.
type TopicState struct {
	Err        error // the broker's code; nil: none
	Partitions int
	Leaderless []int32 // partitions without a leader
	Replicas   int     // of the partition with the fewest
	Allowed    Operations
}

// Describe asks once for the cluster, for topics, and for the operations that this client is allowed on them.
func (c *Client) Describe(ctx context.Context, topics ...string) (*Cluster, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = true
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	const eachError = 12 // the last version in which each topic has its own error
	m, err := ask[*kmsg.MetadataResponse](ctx, c, req, 0, eachError, wire.Target{})
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, kafkago.UnsupportedVersion
	}
	found := &Cluster{Topics: make(map[string]TopicState, len(m.Topics))}
	for _, b := range m.Brokers {
		found.Brokers = append(found.Brokers, BrokerAddress{b.NodeID, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))})
	}
	for _, t := range m.Topics {
		if t.Topic == nil {
			continue
		}
		s := TopicState{Err: wire.Failure(t.ErrorCode), Partitions: len(t.Partitions),
			Allowed: Operations(t.AuthorizedOperations)}
		for i, p := range t.Partitions {
			if i == 0 || len(p.Replicas) < s.Replicas {
				s.Replicas = len(p.Replicas)
			}
			if p.Leader < 0 || p.ErrorCode != 0 {
				s.Leaderless = append(s.Leaderless, p.Partition)
			}
		}
		found.Topics[*t.Topic] = s
	}
	return found, nil
}

// Similar ends a sentence about a topic that does not exist with the one that was probably meant.
func (c *Client) Similar(ctx context.Context, topic string) string {
	all, _ := c.within(ctx, hung, wire.AllTopics()) // without an answer nothing is similar
	return wire.Similar(all, topic)
}

// Reach asks a broker something that needs no right.
func (c *Client) Reach(ctx context.Context, broker int32) error {
	req := kmsg.NewPtrApiVersionsRequest()
	_, err := ask[*kmsg.ApiVersionsResponse](ctx, c, req, 0, req.MaxVersion(), wire.Broker(broker))
	return err
}

// TopicSettings asks for settings of topics, by their names. A topic whose settings this client may not read
// (DescribeConfigs) is missing, as are settings that the broker does not know.
func (c *Client) TopicSettings(ctx context.Context, topics, names []string) (map[string]map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, topic := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, names
		req.Resources = append(req.Resources, r)
	}
	m, err := ask[*kmsg.DescribeConfigsResponse](ctx, c, req, 0, req.MaxVersion(), wire.Target{})
	if err != nil || m == nil {
		return nil, err
	}
	found := make(map[string]map[string]string, len(topics))
	for _, r := range m.Resources {
		if r.ErrorCode != 0 {
			continue
		}
		found[r.ResourceName] = make(map[string]string, len(names))
		for _, e := range r.Configs {
			if e.Value != nil {
				found[r.ResourceName][e.Name] = *e.Value
			}
		}
	}
	return found, nil
}

// MayJoin asks a group's coordinator whether this client may join, without joining: it sends a heartbeat of a member
// that does not exist. The coordinator looks at the rights first, and then refuses that.
func (c *Client) MayJoin(ctx context.Context, group string) error {
	return coordinated(ctx, func() error {
		at, err := c.coordinator(ctx, group)
		if err != nil {
			return err
		}
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group, req.Generation, req.MemberID = group, -1, "nobody"
		m, err := ask[*kmsg.HeartbeatResponse](ctx, c, req, 0, req.MaxVersion(), wire.Broker(at))
		if err != nil || m == nil {
			return err
		}
		switch kafkago.Error(m.ErrorCode) {
		case kafkago.UnknownMemberId, kafkago.GroupIdNotFound, kafkago.IllegalGeneration, kafkago.RebalanceInProgress:
			return nil
		}
		return wire.Failure(m.ErrorCode)
	})
}

// MayTransact asks the coordinator of a transactional id whether this client may use it. It asks to end a transaction
// of a producer that does not exist: the coordinator looks at the rights first, and then refuses that.
func (c *Client) MayTransact(ctx context.Context, id string) error {
	return coordinated(ctx, func() error {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKey, find.CoordinatorType = id, 1
		const oneKey = 3 // from version 4 on a request names several
		at, err := ask[*kmsg.FindCoordinatorResponse](ctx, c, find, 1, oneKey, wire.Target{})
		if err == nil && at == nil {
			err = kafkago.UnsupportedVersion
		}
		if err == nil {
			err = wire.Failure(at.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("asking for the coordinator: %w", err)
		}
		end := kmsg.NewPtrEndTxnRequest()
		end.TransactionalID, end.ProducerID, end.ProducerEpoch = id, -1, -1
		const beforeVerification = 3 // later versions are for clients of transactions of another kind (KIP-890)
		m, err := ask[*kmsg.EndTxnResponse](ctx, c, end, 0, beforeVerification, wire.Broker(at.NodeID))
		if err != nil || m == nil {
			return err
		}
		if slices.Contains([]kafkago.Error{kafkago.InvalidProducerIDMapping, kafkago.InvalidProducerEpoch,
			kafkago.InvalidTransactionState}, kafkago.Error(m.ErrorCode)) {
			return nil
		}
		return wire.Failure(m.ErrorCode)
	})
}

// coordinated asks again while there is no coordinator yet: the first group of a cluster waits until Kafka has made
// the topic of offsets.
func coordinated(ctx context.Context, question func() error) error {
	for {
		err := question()
		waits := errors.Is(err, kafkago.GroupCoordinatorNotAvailable) || errors.Is(err, kafkago.GroupLoadInProgress) ||
			errors.Is(err, kafkago.NotCoordinatorForGroup)
		if !waits || retry.Sleep(ctx, retry.SystemClock{}, 250*time.Millisecond) != nil {
			return err
		}
	}
}
