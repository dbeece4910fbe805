package consumer

import (
	"context"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/retrieval"
	"rivulet/infer/target"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Version is an artifact that is served. It does not change, and may be used after a newer one has taken over.
type Version interface {
	// ID is the artifact's version, as predictions name it.
	ID() string
	// Classes are the names of the C classes, by index.
	Classes() []string
	// Features is d, the number of raw features of an arrival.
	Features() int
	// SyntheticNodes is N', the number of columns of M.
	SyntheticNodes() int
	// Rows fills rows[i] with the row of M of the node ids[i]; an id that is not in T gives a row with Known false. The
	// slices in a row are shared and must not be changed. A damaged row is Unread; if the version may degrade, so is a row
	// that cannot be read.
	Rows(ctx context.Context, ids []string, rows []attach.Row) error
	// Predict returns raw logits and published probabilities, both n×C.
	Predict(b *attach.Batch) (logits, probabilities *graph.Dense)
	// Embed returns the layer before the classifier, n×width. It is asked only where [Output.Representation] is embedding.
	Embed(b *attach.Batch) *graph.Dense
	// Joint reports whether arrivals of a batch change each other's predictions even without an edge between them.
	Joint() bool
	// Threshold is the probability of the predicted class below which a prediction abstains; 0: none does.
	Threshold() float32
}

// Numbering is a version that may have all of M in memory. A row is then a number, and nothing else is copied for an
// edge.
type Numbering interface {
	Version
	// Numbers sets numbers[i] to the number of the row of ids[i] in the M that it returns, 0 for an id that is not in T.
	// It returns nil, and sets nothing, if M is not in memory.
	Numbers(ids []string, numbers []uint32) *attach.PackedRows
}

// Weighing is a version of a graph whose edges may have weights.
type Weighing interface {
	Version
	// Weighted reports whether edges have weights. Weights that arrivals give are read as 1 otherwise.
	Weighted() bool
	// Bins are the bins of edges whose tables are served; nil where the batch is joined to S, with weights as they are.
	Bins() *graph.Bins
}

// relations returns the version's bins if edges have types or directions; nil otherwise.
func relations(v Version) *graph.Bins {
	if w, ok := v.(Weighing); ok && w.Bins().ByRelation() {
		return w.Bins()
	}
	return nil
}

// Tasked is a version that may predict labels, numbers or links in place of classes.
type Tasked interface {
	Version
	// Task is the version's task. Classes returns the names of the labels, or of the outputs. If the task is number, both
	// results of Predict are the numbers, and no prediction abstains.
	Task() target.Task
	// Radius is half the width of the interval of each output; nil where the task is not numbers.
	Radius() []float64
	// Candidates are the nodes that a link may lead to, and Predict returns embeddings; nil: the task is not links.
	Candidates() *retrieval.Index
}

// weighing returns the version if edges have weights; nil otherwise.
func weighing(v Version) Weighing {
	if w, ok := v.(Weighing); ok && w.Weighted() {
		return w
	}
	return nil
}

// Explainer is a version that gives the reasons for its predictions.
type Explainer interface {
	Version
	// Strongest appends the n largest shares of a prediction to dst, and returns the class that it is compared with.
	Strongest(dst []explain.Reason, n int, b *attach.Batch, rows [][]attach.Row, i, class int,
		logits []float32) ([]explain.Reason, int)
	// Explain takes a prediction apart in full.
	Explain(b *attach.Batch, rows [][]attach.Row, i int, logits, probabilities []float32) *explain.Explanation
	// FeatureNames are the names of the d features by position; nil where they have none.
	FeatureNames() []string
}

// Versions gives the version to serve. It is asked once a batch: one version serves a batch.
type Versions interface {
	// Current is nil (the interface, not a nil pointer in it) until the first version has been loaded.
	Current() Version
}

// Deliverer makes a batch durable: Publish its predictions and dead letters, and the delivery's Commit the next offsets
// to read, in the name of by. Publish may be called again with the same batch after an error. It keeps nothing of the
// predictions and dead letters after it has returned. Refused of its delivery gives places in the batch, counting
// predictions before dead letters; only a dead letter replaces a refused record.
type Deliverer interface {
	Publish(ctx context.Context, b event.Batch, next kafka.Offsets, by kafka.Committer) (kafka.Delivery, error)
}

// Packer is a Deliverer that encodes a batch before its turn to be published has come. Pack keeps its argument; publish
// is called at most once, and does what Publish does for a batch.
type Packer interface {
	Pack(ctx context.Context, b event.Batch) (publish Publish, err error)
}

// Publish publishes a batch that is packed, as [Deliverer] says.
type Publish = func(ctx context.Context, next kafka.Offsets, by kafka.Committer) (kafka.Delivery, error)

// Fencer is a Deliverer that works with transactions. It is told of each generation before the offsets of its
// partitions are read, and ends unfinished transactions of earlier owners of these partitions.
type Fencer interface {
	Begin(ctx context.Context, by kafka.Committer, assigned []kafka.TopicPartition) error
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
	// Joined has the edges that came as records of their own, by the place of the arrival that waited for them; nil: no
	// arrival of the batch waited.
	Joined map[kafka.Position][]event.Edge
	// DeadLetters are records that have become dead letters before: edges without an arrival.
	DeadLetters []event.DeadLetter
	Unmatched   [][2]string // ends of all edges without an arrival, also of those that are only counted
	// Offsets are the next offsets to read once the batch is delivered; nil where the records come from elsewhere.
	Offsets kafka.Offsets
	// Generation commits the offsets.
	Generation kafka.Committer
	// After is the batch that must be delivered before this one; nil where there is none or it does not matter.
	After *ticket
	// Ticket is the batch's own, for the one behind it; nil where there is none.
	Ticket *ticket
}

// Mode decides whether the arrivals of a batch see each other (docs/algorithm.md, section 1).
type Mode string

// Modes.
const (
	// Graph keeps ã, the edges between the arrivals of a batch.
	Graph Mode = "graph"
	// Node takes every arrival on its own: ã is zero.
	Node Mode = "node"
)

// RepresentationNone is the value of [Output.Representation] that asks for none.
const RepresentationNone = "none"

// Output selects the parts of a prediction beside the most probable class.
type Output struct {
	// TopK is how many of the most probable classes it lists; 0 means none, more than C means C.
	TopK int
	// Probabilities and Logits ask for one value a class.
	Probabilities, Logits bool
	// Representation names the numbers that a feed computes with instead of a class: event.RepresentationLogits,
	// event.RepresentationEmbedding, for which the versions must have been loaded, or none ("none" or empty).
	Representation string
	// Explain is how many of its strongest reasons a prediction lists, for which the versions must be [Explainer]; 0:
	// none. ExplainIDs adds the neighbours' ids to them.
	Explain    int
	ExplainIDs bool
}
