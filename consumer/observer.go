package consumer

import (
	"time"

	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/schema"
)

// Observer is told of batches, dead letters, retries and losses. Its methods are called from several goroutines at once
// and must return soon: the stream waits for them.
type Observer interface {
	// Batch is called once for each batch that has been delivered: published and committed.
	Batch(BatchStats)
	// Dropped is called for each record that the brokers refused in every form, also as a dead letter, once its batch is
	// delivered; reason is one of kafka's Refused constants.
	Dropped(reason string)
	// Lag is called after each fetch: lag is the partition's high-water mark less the offset that is read next, and the
	// records that wait for edges or are edges that wait ([Options.Window]).
	Lag(tp kafka.TopicPartition, lag int64)
	// Window is called after each fetch of a partition whose arrivals wait for edges ([Options.Window]).
	Window(tp kafka.TopicPartition, s window.Stats)
	// Rebalance is called when a generation of the group begins, with the partitions that it assigned to this consumer.
	Rebalance(assigned []kafka.TopicPartition)
	// Retry is called before each repeated attempt; stage is one of the Stage constants.
	Retry(stage string, err error)
	// Lost is called when records of the input are gone; reason is one of kafka.LostReasons, records how many they
	// are as far as that is known.
	Lost(reason string, records int64)
	// Throttled is called when a broker asks for a pause before the next requests of a kind: produce, fetch, group or
	// other.
	Throttled(requests string, pause time.Duration)
}

// Stages that are waited for and retried.
const (
	StageVersion = "version"          // a first artifact to serve
	StageTopics  = retry.StageTopics  // the topics' coming into being
	StageGroup   = retry.StageGroup   // joining the consumer group
	StageOffsets = retry.StageOffsets // reading the group's offsets
	StageFetch   = retry.StageFetch   // reading a partition
	StageLookup  = "lookup"           // reading rows of M
	StageRows    = "rows"             // writing rows of arrivals
	StageSchemas = "schemas"          // asking the registry for schemas
	StageStore   = "features"         // reading features by id
	StagePublish = retry.StagePublish // writing predictions and dead letters, committing offsets
)

// BatchStats describes one delivered batch.
type BatchStats struct {
	// Name is the batch's name, as its predictions carry it; Version the artifact that served it.
	Name, Version string
	// Records is the number of records that came in, Bytes the size of their keys and values.
	Records, Bytes int
	// Known, Arrivals, InBatch and Unknown are the sums over the batch of the predictions' fields of these names.
	Known, Arrivals, InBatch, Unknown int
	// Isolated is the number of arrivals that are predicted from their features alone, without any neighbour.
	Isolated int
	// Dropped is the number of entries of edge lists that named the arrival itself or a neighbour twice.
	Dropped int
	// Weights counts edges whose weight or direction was read as another one.
	Weights EdgeCounts
	// OldEdges is the number of edges of their own between two nodes of T. No prediction has them before a refresh.
	OldEdges int
	// OtherSchema is the number of arrivals with features by name under the hash of another schema than the version's.
	OtherSchema int
	// Values counts, by feature with a name, values of the batch's arrivals that are missing, and categories that the
	// version does not know.
	Values []schema.Count
	// Skipped has, for each record that is no arrival and no dead letter, the reason why it was passed over. It may be
	// read during the call only.
	Skipped []read.Skip
	// Forgets is the number of ids that records asked to forget, Forgotten for how many of them something was stored.
	Forgets, Forgotten int
	// Fetched is the number of arrivals whose features were looked up.
	Fetched int
	// Lookups is the number of rows of M that were asked for: one for each edge if M is in memory, else one for each
	// distinct id.
	Lookups int
	// Solved is the number of arrivals for which a row of M was solved, Residual the sum over them of the shares of
	// their squared messages that the rows leave out. Solve is how long solving took, beside Wait and Publish.
	Solved   int
	Residual float64
	Solve    time.Duration
	// The stages follow one another; together they make up the time from Started to the end of the delivery. Wait is the
	// time from the batch's encoding until the batch before it was published, or a transaction took it. Keep is the time
	// from publication until the arrivals' rows were written, including the rest of the solve. Commit is the time until
	// the offsets were committed, which waits for the commit before.
	Decode, Features, Lookup, Attach, Infer, Encode, Wait, Publish, Keep, Commit time.Duration
	// Started is when the batch was formed, Published when its predictions became visible: at least once when the brokers
	// acknowledged them, exactly once when they acknowledged the transaction's end.
	Started, Published time.Time
	// Named are the names of the measures' Named; nil where the version has no schema.
	Named []string
	// Measures describe the features of all arrivals of the batch, also of those whose prediction was not finite.
	Measures []Measure
	// Delivered is the batch itself. It may be read during the call only: its memory is used again, and ids are parts of
	// records, so an observer that keeps an id must clone it.
	Delivered *event.Batch
}

// NopObserver observes nothing. Embed it to implement some of the methods only.
type NopObserver struct{}

// Batch does nothing.
func (NopObserver) Batch(BatchStats) {}

// Dropped does nothing.
func (NopObserver) Dropped(string) {}

// Lag does nothing.
func (NopObserver) Lag(kafka.TopicPartition, int64) {}

// Window does nothing.
func (NopObserver) Window(kafka.TopicPartition, window.Stats) {}

// Rebalance does nothing.
func (NopObserver) Rebalance([]kafka.TopicPartition) {}

// Retry does nothing.
func (NopObserver) Retry(string, error) {}

// Lost does nothing.
func (NopObserver) Lost(string, int64) {}

// Throttled does nothing.
func (NopObserver) Throttled(string, time.Duration) {}

var _ Observer = NopObserver{}
