package consumer

import (
	"context"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Deliverer publishes batches. It returns the records that were refused for their content, by their places in the
// batch, predictions before dead letters; only a dead letter replaces a refused record. In transactions next, the
// offsets to read next, goes into the open one beside the records. Publish may be called again with the same batch
// after an error. It keeps nothing of the predictions and dead letters after it has returned.
type Deliverer interface {
	Publish(ctx context.Context, b event.Batch, next kafka.Offsets) ([]kafka.Refusal, error)
}

// Packer is a Deliverer that encodes a batch before its turn to be published has come. Pack keeps its argument; publish
// is called at most once, and does what Publish does for a batch.
type Packer interface {
	Pack(ctx context.Context, b event.Batch) (publish Publish, err error)
}

// Publish publishes a batch that is packed, as [Deliverer] says.
type Publish = func(ctx context.Context, next kafka.Offsets) ([]kafka.Refusal, error)

// Transactions are those that a Deliverer publishes into, one at a time: the first batch that is published opens it.
type Transactions interface {
	// Begin is called for each generation before the offsets of its partitions are read, and ends unfinished transactions
	// of earlier owners of these partitions.
	Begin(ctx context.Context, by kafka.Committer, assigned []kafka.TopicPartition) error
	// Commit ends the open transaction with everything in it, Abort with nothing.
	Commit(ctx context.Context) error
	Abort(ctx context.Context) error
	// Paused reports whether nothing can be published for a while.
	Paused() bool
}

// Clock tells the time, and paces the waiting in package kafka too.
type Clock = retry.Clock

// SystemClock is the machine's clock.
type SystemClock = retry.SystemClock

// Intake holds the records of one batch, and the offsets that it commits.
type Intake struct {
	// Name is the micro-batch's name. Predictions carry it.
	Name string
	// Records are in the order in which they were read; within a partition that is the order of offsets.
	Records []kafka.Record
	// Messages are the messages of the records, nil for one that was not read; a nil list: no record was read yet. They
	// are not changed, as a batch may be taken down the path again.
	Messages []*read.Message
	// Joined has the edges that came as records of their own, by the place of the arrival that waited for them; nil: no
	// arrival of the batch waited.
	Joined map[kafka.Position][]event.Edge
	// DeadLetters are records that have become dead letters before: edges without an arrival.
	DeadLetters []event.DeadLetter
	Unmatched   [][2]string // ends of all edges without an arrival, also of those that are only counted
	// Offsets are the next offsets to read once the batch is delivered; nil where the records come from elsewhere.
	Offsets kafka.Offsets
	// Turn is the batch's place in the order of its generation; nil: the batch is published at once, and nobody commits.
	Turn *turn
}

// RepresentationNone is the value of [Output.Representation] that asks for none.
const RepresentationNone = "none"

// Output selects the parts of a prediction beside the most probable class.
type Output struct {
	// TopK is the number of the most probable classes that it lists; 0 means none, more than C means C.
	TopK int
	// Probabilities and Logits ask for one value a class.
	Probabilities, Logits bool
	// Representation names the numbers that a feed computes with instead of a class: event.RepresentationLogits,
	// event.RepresentationEmbedding, which the versions must have an embedder for, or none ("none" or empty).
	Representation string
	// Explain is the number of strongest reasons that a prediction lists, which the versions must have an explainer for;
	// 0: none. ExplainIDs adds the neighbours' ids to them.
	Explain    int
	ExplainIDs bool
}
