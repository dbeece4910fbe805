package kafka

import "github.com/segmentio/kafka-go/protocol"

// stableFetch is OffsetFetch, version 7 (Kafka 2.5), which may ask for stable offsets (KIP-447): while a transaction
// that commits offsets for a partition is not over, the broker says UNSTABLE_OFFSET_COMMIT instead of the offset
// before it. A reader that began there would read again what the transaction is about to commit.
//
// kafka-go ends at version 5 and has no such question. In a process that imports this package the message takes the
// place of the library's own, which would fail.
type stableFetch struct {
	_             struct{}       `kafka:"min=v7,max=v7,tag"`
	GroupID       string         `kafka:"min=v7,max=v7,compact"`
	Topics        []fetchedTopic `kafka:"min=v7,max=v7"`
	RequireStable bool           `kafka:"min=v7,max=v7"`
}

type fetchedTopic struct {
	_          struct{} `kafka:"min=v7,max=v7,tag"`
	Name       string   `kafka:"min=v7,max=v7,compact"`
	Partitions []int32  `kafka:"min=v7,max=v7"`
}

// stableOffsets is the answer to it.
type stableOffsets struct {
	_              struct{}      `kafka:"min=v7,max=v7,tag"`
	ThrottleTimeMs int32         `kafka:"min=v7,max=v7"`
	Topics         []stableTopic `kafka:"min=v7,max=v7"`
	ErrorCode      int16         `kafka:"min=v7,max=v7"`
}

type stableTopic struct {
	_          struct{}       `kafka:"min=v7,max=v7,tag"`
	Name       string         `kafka:"min=v7,max=v7,compact"`
	Partitions []stableOffset `kafka:"min=v7,max=v7"`
}

type stableOffset struct {
	_           struct{} `kafka:"min=v7,max=v7,tag"`
	Partition   int32    `kafka:"min=v7,max=v7"`
	Offset      int64    `kafka:"min=v7,max=v7"` // -1 if none was committed
	LeaderEpoch int32    `kafka:"min=v7,max=v7"`
	Metadata    string   `kafka:"min=v7,max=v7,nullable,compact"`
	ErrorCode   int16    `kafka:"min=v7,max=v7"`
}

func init() { protocol.Register(&stableFetch{}, &stableOffsets{}) }

// ApiKey says which request it is.
func (*stableFetch) ApiKey() protocol.ApiKey { return protocol.OffsetFetch }

// ApiKey says which request was answered.
func (*stableOffsets) ApiKey() protocol.ApiKey { return protocol.OffsetFetch }

// Group makes the transport ask the group's coordinator.
func (s *stableFetch) Group() string { return s.GroupID }
