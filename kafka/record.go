package kafka

import (
	"context"

	"rivulet/kafka/wire"
)

type (
	// Header is one header of a record.
	Header = wire.Header
	// TopicPartition names one partition.
	TopicPartition = wire.TopicPartition
	// Position is where a record stands in the log.
	Position = wire.Position
	// Record is one record that was read or is to be published.
	Record = wire.Record
	// Damage says why records could not be read.
	Damage = wire.Damage
)

// Offsets are the next offsets to read.
type Offsets map[TopicPartition]int64

// Member is a member of a consumer group in one generation, as the brokers know it.
type Member struct {
	Group      string
	Instance   string // of a static member
	ID         string
	Generation int32

	trail *trail // epochs and topic ids of the offsets that it commits
	note  string // metadata of offsets where the topic's id is not known
}

// Committer stores offsets in the name of one generation of a consumer group. A [Generation] is one.
type Committer interface {
	// Commit stores the next offsets to read. It fails with [retry.ErrGeneration] when a newer generation has taken
	// over.
	Commit(ctx context.Context, next Offsets) error
	// Member names the member in whose name a transaction commits offsets.
	Member() Member
}
