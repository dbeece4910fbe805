package kafka

import (
	"errors"

	"github.com/segmentio/kafka-go/protocol"
)

// fetchRequest is Fetch, versions 11 to 13 (Kafka 2.3, 2.7 and 3.1, which names topics by their ids). The record
// batches of its answer are bytes: kafka-go's own message unpacks them at once, whatever they come to.
//
// In a process that imports this package the message takes the place of the library's own, which would fail.
type fetchRequest struct {
	_              struct{}       `kafka:"min=v12,max=v13,tag"`
	ReplicaID      int32          `kafka:"min=v11,max=v13"`
	MaxWaitTime    int32          `kafka:"min=v11,max=v13"`
	MinBytes       int32          `kafka:"min=v11,max=v13"`
	MaxBytes       int32          `kafka:"min=v11,max=v13"`
	IsolationLevel int8           `kafka:"min=v11,max=v13"`
	SessionID      int32          `kafka:"min=v11,max=v13"`
	SessionEpoch   int32          `kafka:"min=v11,max=v13"`
	Topics         []fetchTopic   `kafka:"min=v11,max=v13"`
	Forgotten      []forgetTopic  `kafka:"min=v11,max=v13"`
	RackID         string         `kafka:"min=v11,max=v11|min=v12,max=v13,compact"`
	at             TopicPartition // the one that is asked for
}

// fetchTopic names a topic, or says its id as two numbers: kafka-go knows no bytes of a fixed length.
type fetchTopic struct {
	_          struct{}         `kafka:"min=v12,max=v13,tag"`
	Topic      string           `kafka:"min=v11,max=v11|min=v12,max=v12,compact"`
	IDHigh     int64            `kafka:"min=v13,max=v13"`
	IDLow      int64            `kafka:"min=v13,max=v13"`
	Partitions []fetchPartition `kafka:"min=v11,max=v13"`
}

type fetchPartition struct {
	_                  struct{} `kafka:"min=v12,max=v13,tag"`
	Partition          int32    `kafka:"min=v11,max=v13"`
	CurrentLeaderEpoch int32    `kafka:"min=v11,max=v13"`
	FetchOffset        int64    `kafka:"min=v11,max=v13"`
	LastFetchedEpoch   int32    `kafka:"min=v12,max=v13"`
	LogStartOffset     int64    `kafka:"min=v11,max=v13"`
	PartitionMaxBytes  int32    `kafka:"min=v11,max=v13"`
}

// forgetTopic is for fetch sessions, which nobody begins here.
type forgetTopic struct {
	_          struct{} `kafka:"min=v12,max=v13,tag"`
	Topic      string   `kafka:"min=v11,max=v11|min=v12,max=v12,compact"`
	IDHigh     int64    `kafka:"min=v13,max=v13"`
	IDLow      int64    `kafka:"min=v13,max=v13"`
	Partitions []int32  `kafka:"min=v11,max=v13"`
}

// fetched is the answer to it.
type fetched struct {
	_              struct{}        `kafka:"min=v12,max=v13,tag"`
	ThrottleTimeMs int32           `kafka:"min=v11,max=v13"`
	ErrorCode      int16           `kafka:"min=v11,max=v13"`
	SessionID      int32           `kafka:"min=v11,max=v13"`
	Topics         []answeredTopic `kafka:"min=v11,max=v13"`
}

type answeredTopic struct {
	_          struct{}           `kafka:"min=v12,max=v13,tag"`
	Topic      string             `kafka:"min=v11,max=v11|min=v12,max=v12,compact"`
	IDHigh     int64              `kafka:"min=v13,max=v13"`
	IDLow      int64              `kafka:"min=v13,max=v13"`
	Partitions []fetchedPartition `kafka:"min=v11,max=v13"`
}

type fetchedPartition struct {
	_                    struct{}             `kafka:"min=v12,max=v13,tag"`
	Partition            int32                `kafka:"min=v11,max=v13"`
	ErrorCode            int16                `kafka:"min=v11,max=v13"`
	HighWatermark        int64                `kafka:"min=v11,max=v13"`
	LastStableOffset     int64                `kafka:"min=v11,max=v13"`
	LogStartOffset       int64                `kafka:"min=v11,max=v13"`
	Aborted              []abortedTransaction `kafka:"min=v11,max=v13"`
	PreferredReadReplica int32                `kafka:"min=v11,max=v13"`
	Batches              []byte               `kafka:"min=v11,max=v13"`
}

type abortedTransaction struct {
	_           struct{} `kafka:"min=v12,max=v13,tag"`
	ProducerID  int64    `kafka:"min=v11,max=v13"`
	FirstOffset int64    `kafka:"min=v11,max=v13"`
}

func init() { protocol.Register(&fetchRequest{}, &fetched{}) }

// ApiKey says which request it is.
func (*fetchRequest) ApiKey() protocol.ApiKey { return protocol.Fetch }

// ApiKey says which request was answered.
func (*fetched) ApiKey() protocol.ApiKey { return protocol.Fetch }

// Broker makes the transport ask the partition's leader.
func (f *fetchRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	return leader(cluster, f.at)
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
