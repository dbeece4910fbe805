package kafka

import (
	"context"
	"time"
)

// Header is one header of a record. It is an alias of a struct without a name, as event.Header is, so that both are
// one type although neither package imports the other.
type Header = struct {
	Key   string
	Value []byte
}

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int
}

// Position is where a record stands in the log. It converts to event.Source.
type Position struct {
	Topic     string
	Partition int
	Offset    int64
}

// Record is one record: as it was read, or to be published. A record to be published has no Position yet, and a zero
// Time means now.
type Record struct {
	Key, Value []byte
	Headers    []Header
	Position   Position
	// Time is the record's timestamp.
	Time time.Time
	// Damage says why a record that was read has no value; nil: it is as it was written.
	Damage *Damage
}

// Damage says why records could not be read. One record stands for all of them: its Position is that of the first.
type Damage struct {
	Last     int64  // the offset of the last one
	TooLarge bool   // they are larger than what is read; otherwise they are broken
	Detail   string // for a person
}

// Offsets are the next offsets to read.
type Offsets map[TopicPartition]int64

// Member is a member of a consumer group in one generation, as the brokers know it.
type Member struct {
	Group      string
	ID         string
	Generation int32

	trail *trail // what it knows of the offsets that it commits
	note  string // what is committed beside offsets if the id of the topic is not known
}

// Committer stores offsets in the name of one generation of a consumer group. A [Generation] is one.
type Committer interface {
	// Commit stores the next offsets to read. It fails with [ErrGeneration] when a newer generation has taken over.
	Commit(ctx context.Context, next Offsets) error
	// Current asks the coordinator whether the generation is still the group's last one, and returns [ErrGeneration] if
	// it is not, or cannot be asked.
	Current(ctx context.Context) error
	// Member says in whose name offsets are committed that are part of a transaction.
	Member() Member
}
