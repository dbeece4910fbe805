package wire

import (
	"iter"
	"slices"
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

// Epochs says in which leader's epoch the records of one partition were written.
type Epochs []EpochStart

// mostEpochs is how many changes of leaders are remembered for records that are not committed yet.
const mostEpochs = 64

// Add notes that the records from an offset on are of an epoch.
func (e Epochs) Add(first int64, epoch int32) Epochs {
	e = slices.DeleteFunc(e, func(s EpochStart) bool { return s.First >= first }) // after a truncation
	if len(e) > 0 && e[len(e)-1].Epoch == epoch {
		return e
	}
	if len(e) == mostEpochs {
		e = slices.Delete(e, 0, 1)
	}
	return append(e, EpochStart{First: first, Epoch: epoch})
}

// Of returns the epoch of the record before an offset; -1: not known.
func (e Epochs) Of(next int64) int32 {
	for _, s := range slices.Backward(e) {
		if s.First < next {
			return s.Epoch
		}
	}
	return -1
}
