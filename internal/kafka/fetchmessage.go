package kafka

import (
	"errors"

	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
)

// fetchRequest is Fetch, versions 11 and 12 (Kafka 2.3 and 2.7). The record batches of its answer are bytes: kafka-go's own
// message unpacks them at once, whatever they come to.
//
// In a process that imports this package the message takes the place of the library's own, which would fail.
type fetchRequest struct {
	_              struct{}       `kafka:"min=v12,max=v12,tag"`
	ReplicaID      int32          `kafka:"min=v11,max=v12"`
	MaxWaitTime    int32          `kafka:"min=v11,max=v12"`
	MinBytes       int32          `kafka:"min=v11,max=v12"`
	MaxBytes       int32          `kafka:"min=v11,max=v12"`
	IsolationLevel int8           `kafka:"min=v11,max=v12"`
	SessionID      int32          `kafka:"min=v11,max=v12"`
	SessionEpoch   int32          `kafka:"min=v11,max=v12"`
	Topics         []fetchTopic   `kafka:"min=v11,max=v12"`
	Forgotten      []forgetTopic  `kafka:"min=v11,max=v12"`
	RackID         string         `kafka:"min=v11,max=v11|min=v12,max=v12,compact"`
	at             TopicPartition // the one that is asked for
}

type fetchTopic struct {
	_          struct{}         `kafka:"min=v12,max=v12,tag"`
	Topic      string           `kafka:"min=v11,max=v11|min=v12,max=v12,compact"`
	Partitions []fetchPartition `kafka:"min=v11,max=v12"`
}

type fetchPartition struct {
	_                  struct{} `kafka:"min=v12,max=v12,tag"`
	Partition          int32    `kafka:"min=v11,max=v12"`
	CurrentLeaderEpoch int32    `kafka:"min=v11,max=v12"`
	FetchOffset        int64    `kafka:"min=v11,max=v12"`
	LastFetchedEpoch   int32    `kafka:"min=v12,max=v12"`
	LogStartOffset     int64    `kafka:"min=v11,max=v12"`
	PartitionMaxBytes  int32    `kafka:"min=v11,max=v12"`
}

// forgetTopic is for fetch sessions, which nobody begins here.
type forgetTopic struct {
	_          struct{} `kafka:"min=v12,max=v12,tag"`
	Topic      string   `kafka:"min=v11,max=v11|min=v12,max=v12,compact"`
	Partitions []int32  `kafka:"min=v11,max=v12"`
}

// fetched is the answer to it.
type fetched struct {
	_              struct{}        `kafka:"min=v12,max=v12,tag"`
	ThrottleTimeMs int32           `kafka:"min=v11,max=v12"`
	ErrorCode      int16           `kafka:"min=v11,max=v12"`
	SessionID      int32           `kafka:"min=v11,max=v12"`
	Topics         []answeredTopic `kafka:"min=v11,max=v12"`
}

type answeredTopic struct {
	_          struct{}           `kafka:"min=v12,max=v12,tag"`
	Topic      string             `kafka:"min=v11,max=v11|min=v12,max=v12,compact"`
	Partitions []fetchedPartition `kafka:"min=v11,max=v12"`
}

type fetchedPartition struct {
	_                    struct{}             `kafka:"min=v12,max=v12,tag"`
	Partition            int32                `kafka:"min=v11,max=v12"`
	ErrorCode            int16                `kafka:"min=v11,max=v12"`
	HighWatermark        int64                `kafka:"min=v11,max=v12"`
	LastStableOffset     int64                `kafka:"min=v11,max=v12"`
	LogStartOffset       int64                `kafka:"min=v11,max=v12"`
	Aborted              []abortedTransaction `kafka:"min=v11,max=v12"`
	PreferredReadReplica int32                `kafka:"min=v11,max=v12"`
	Batches              []byte               `kafka:"min=v11,max=v12"`
}

type abortedTransaction struct {
	_           struct{} `kafka:"min=v12,max=v12,tag"`
	ProducerID  int64    `kafka:"min=v11,max=v12"`
	FirstOffset int64    `kafka:"min=v11,max=v12"`
}

func init() { protocol.Register(&fetchRequest{}, &fetched{}) }

// ApiKey says which request it is.
func (*fetchRequest) ApiKey() protocol.ApiKey { return protocol.Fetch }

// ApiKey says which request was answered.
func (*fetched) ApiKey() protocol.ApiKey { return protocol.Fetch }

// Broker makes the transport ask the partition's leader.
func (f *fetchRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	return (&fetchapi.Request{Topics: []fetchapi.RequestTopic{{Topic: f.at.Topic,
		Partitions: []fetchapi.RequestPartition{{Partition: int32(f.at.Partition)}}}}}).Broker(cluster)
}

// only returns the one partition that was asked for.
func (f *fetched) only() (*fetchedPartition, error) {
	if err := failure(f.ErrorCode); err != nil {
		return nil, err
	}
	if len(f.Topics) != 1 || len(f.Topics[0].Partitions) != 1 {
		return nil, errors.New("the broker answered for another partition")
	}
	p := &f.Topics[0].Partitions[0]
	return p, failure(p.ErrorCode)
}
