package event

import (
	"time"

	"rivulet/event/connect"
	"rivulet/schema"
)

// Arrival is a node that was not in the graph when the model was trained.
type Arrival struct {
	// ID is the node's external id, unique among the nodes of the graph; not empty.
	ID string
	// Features are the node's raw features, before any preprocessing.
	Features Features
	// Edges are the ids of the node's neighbours: nodes of the original graph, other arrivals, or unknown ids.
	// Edges are distinct.
	Edges []string
	// Weights are the weights of the edges, finite and above 0, as many as Edges, or where Incoming is set as both; once
	// edges are distinct and have Relations, one for each relation of each edge. nil: the record gives none.
	Weights []float32
	// Incoming are the ids of the nodes whose edges lead to this one, as the record has them beside Edges, which lead
	// from it; nil: the record tells no directions, or [Arrival.JoinIncoming] has put them into Edges.
	Incoming []string
	// Types are the types of the edges, as many as Edges, or where Incoming is set as both; empty: the record gives this
	// edge none. nil: it gives none, or [Arrival.Relate] has read them.
	Types []string
	// Relations are bits of each edge: its directions, [Outgoing] and [Incoming], until [Arrival.Relate] has made
	// relations of the served version of them. nil: the record tells no directions, and each edge leads from the node.
	Relations []uint32
	// EdgeCount is the number of edges that the arrival has in all, those among them that come as records of their own
	// ([Edge]); 0: the record does not say.
	EdgeCount int
	// Time is the time at which the node was created; zero if the producer does not give it.
	Time time.Time
	// Key is the key under which the prediction is published, where a [read.Mapping] found one; nil: the record's.
	Key []byte
}

// Features is one row of raw features. A dense row has Indices nil and all d values; a sparse row has ascending,
// distinct Indices and as many Values, and is 0 elsewhere.
type Features struct {
	Indices []int32
	Values  []float32
	// Sparse distinguishes an all-zero sparse row (no indices) from a dense row of length 0.
	Sparse bool
	// Named are the features by their names in place of positions, each name once; nil if the row is positional. The
	// artifact's schema makes numbers of them.
	Named []schema.Field
	// Absent says that the record brought no features, where [read.Reader.LookUp] allows that.
	Absent bool
}

// Source is the place from which a record was read.
type Source struct {
	Topic     string
	Partition int
	Offset    int64
}

// Score is one class with its probability.
type Score struct {
	Class       int
	Name        string
	Probability float32
}

// Number is one predicted number, of a task of numbers, with its interval: the number lies in it with a probability of
// 90%.
type Number struct {
	Name                string // of the output
	Value, Lower, Upper float32
}

// Link is a candidate of a task of links: the id of a node, and its score.
type Link struct {
	ID    string
	Score float32
}

// Prediction is Rivulet's answer for one arrival.
type Prediction struct {
	// ID is the arrival's id.
	ID string
	// Key is the arrival's record key, under which the prediction is published; not part of the payload.
	Key []byte
	// Class is the index of the most probable class, ClassName its name, Probability its probability after
	// temperature and propagation (docs/algorithm.md section 6).
	Class       int
	ClassName   string
	Probability float32
	// Abstained says that Probability is below the configured threshold. Class and Probability are
	// still published.
	Abstained bool
	// Degraded says that rows of M could not be read, of the arrival's neighbours or of arrivals that it depends on:
	// these neighbours count as unknown, and the prediction may differ from the normal one.
	Degraded bool
	// Top are the k most probable classes, best first; empty if output.top_k is 0.
	Top []Score
	// Probabilities and Logits have one value a class; nil unless asked for. Logits are the model's raw output.
	Probabilities []float32
	Logits        []float32
	// Representation is a vector for feeds that compute with it, of the kind that RepresentationKind names; nil, and
	// with an empty kind, unless asked for.
	Representation     []float32
	RepresentationKind string
	// Explanation are the strongest reasons for the class; nil unless asked for.
	Explanation *Explanation
	// Numbers are the predicted numbers of a task of numbers, one an output; Class and Probability are 0 then, and say
	// nothing. nil: the task is another one.
	Numbers []Number
	// Labels are the labels of a task of labels whose probability is one half or more, the most probable first. Class is 0
	// then, and says nothing, Probability the share of the labels for which the answer is expected to be right, and Top
	// the k most probable labels. Empty: the node has none of them; nil also: the task is another one.
	Labels []Score
	// Links are the candidates with the highest scores, best first, of a task of links; Class and Probability are 0 then,
	// and say nothing. Candidates that are neighbours of the arrival are left out. nil: the task is another one.
	Links []Link
	// Known counts the neighbours that are nodes of the original graph, Arrivals the neighbours that arrived before
	// and have rows of M InBatch the arrivals of the same graph batch, Unknown all others.
	Known, Arrivals, InBatch, Unknown int
	// Artifact is the version of the artifact that made the prediction.
	Artifact string
	// Batch names the micro-batch; in a graph batch the prediction depends on the batch's other arrivals.
	Batch string
	// Source is the arrival's place in Kafka.
	Source Source
	// Trace is the trace that the arrival belongs to. It has no Parent where the record names no trace, or traces are off.
	Trace TraceContext
	// ArrivalTime is Arrival.Time, IngestTime the record's timestamp, PredictedTime the time after the model had run.
	// An IngestTime outside the years 1 to 9999, which a record may have by mistake, is not published.
	ArrivalTime, IngestTime, PredictedTime time.Time
}

// Kinds of [Prediction.Representation].
const (
	RepresentationLogits    = "logits"    // the model's raw output, C values
	RepresentationEmbedding = "embedding" // the layer before the classifier; for SGC the propagated features
)

// Explanation says why a prediction has its class and not another one, in raw logits.
type Explanation struct {
	// RunnerUp is the class that Margin is against: the other class with the largest logit. −1: there is none.
	RunnerUp int
	// Reasons are the largest ones, largest margin first.
	Reasons []Reason
}

// Reason is a part of a prediction: a feature, a neighbour, or an arrival of the same graph batch.
type Reason struct {
	Kind string // one of the kinds below
	// Name is the feature's name, or its position if features have no names. ID is the neighbour's or arrival's id; empty
	// unless asked for.
	Name, ID string
	// Share is the part of the class's logit that the reason adds, Margin the part of the lead over the runner-up: of
	// linear models exact shares, of others what is lost without it (docs/serve.md).
	Share, Margin float32
}

// Kinds of [Reason].
const (
	KindFeature   = "feature"
	KindNeighbour = "neighbour" // a node of the original graph, or an arrival that has become a node
	KindArrival   = "arrival"   // another arrival of the same graph batch
)

// DeadLetter is a record that can never be predicted, with the reason.
type DeadLetter struct {
	// Key, Value and Headers are the record's own, unchanged. If the dead letter is too large for its topic, some of them
	// are left out ([HeaderTrimmed]).
	Key, Value []byte
	Headers    []Header
	Source     Source
	IngestTime time.Time
	// Reason is the name of one of [Reasons].
	Reason string
	// Detail names the field and the value.
	Detail string
}

// Header is one header of a record. It is an alias of a struct without a name, as the Header of package kafka is, so
// that both are one type although neither package imports the other.
type Header = struct {
	Key   string
	Value []byte
}

// Batch is the output of one micro-batch. It is delivered as a whole.
type Batch struct {
	Predictions []Prediction
	// Answered are the arrivals' records of Predictions, in their order, for dead letters that take the place of
	// predictions; nil where they are not known.
	Answered    []Record
	DeadLetters []DeadLetter
}

// Record is an arrival's record without its key.
type Record struct {
	Value   []byte
	Headers []Header
}

// Codec is one wire form of arrivals, edges, predictions and labels, chosen by the content-type header of a record.
type Codec interface {
	// ContentType returns the value of the content-type header, such as "application/json".
	ContentType() string
	// DecodeArrival reads one record into a, reusing a's memory. The error names the field and the value; it wraps
	// no other error than *[FieldError] for callers to branch on.
	DecodeArrival(data []byte, a *Arrival) error
	AppendArrival(dst []byte, a *Arrival) ([]byte, error)
	DecodePrediction(data []byte, p *Prediction) error
	AppendPrediction(dst []byte, p *Prediction) ([]byte, error)
	// DecodeLabel reads one record into l; its error is a *[FieldError], too.
	DecodeLabel(data []byte, l *Label) error
	AppendLabel(dst []byte, l *Label) ([]byte, error)
	// DecodeEdge reads one record into e; its error is a *[FieldError], too.
	DecodeEdge(data []byte, e *Edge) error
	AppendEdge(dst []byte, e *Edge) ([]byte, error)
}

// Timestamp returns a record's timestamp in UTC, or zero if it cannot be written: the record's producer chose
// it, perhaps in microseconds instead of milliseconds, and it must not prevent a prediction.
func Timestamp(t time.Time) time.Time {
	if !connect.InYears(t) {
		return time.Time{}
	}
	return t.UTC()
}
