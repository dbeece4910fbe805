package wire

import (
	"iter"
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

// ByTopic returns the ids of partitions by their topics.
func ByTopic(partitions iter.Seq[TopicPartition]) map[string][]int32 {
	topics := make(map[string][]int32, 1)
	for at := range partitions {
		topics[at.Topic] = append(topics[at.Topic], int32(at.Partition))
	}
	return topics
}

// Position is where a record stands in the log. It converts to event.Source.
type Position struct {
	Topic     string
	Partition int
	Offset    int64
}

// Record is one record that was read or is to be published. A record to be published has no Position yet, and a zero
// Time means now.
type Record struct {
	Key, Value []byte
	Headers    []Header
	Position   Position
	// Time is the record's timestamp.
	Time time.Time
	// Damage says why a record that was read has no value. It is nil for a record that is as it was written.
	Damage *Damage
}

// Damage says why records could not be read. One record stands for all of them, with the Position of the first.
type Damage struct {
	Last     int64  // the offset of the last one
	TooLarge bool   // larger than the limit; otherwise broken
	Detail   string // for a person
}
