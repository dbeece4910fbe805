package demo

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/observe"
	"rivulet/kafka"
)

// tally holds the figures of every arrival. It is written by the replay, the consumer and the reader at once.
type tally struct {
	consumer.NopObserver
	joined  atomic.Bool      // the consumer has its partitions
	reading atomic.Bool      // predictions are read
	labels  map[string]int32 // class of each test node
	now     func() time.Time

	labeller *labeller         // nil: no labels are published
	follows  atomic.Bool       // the consumer reads the topic of labels
	metrics  *observe.Observer // the consumer's
	version  func() string     // the version that it serves

	mu          sync.Mutex
	sent        map[string]time.Time
	published   map[string]time.Time
	queued      []time.Duration   // from an arrival to the forming of its batch, of each prediction
	answers     map[string]answer // the first of each arrival
	order       []string          // ids in the order of their answers
	predictions int               // records read from the predictions topic
	tested      int               // answers to test nodes
	right       int               // among these
	deadLetters int
	first, last time.Time // first arrival sent, last prediction published
	stages      stages
}

// answer is the stream's answer to an arrival.
type answer struct {
	class                   int32
	known, arrived, unknown int // neighbours, see event.Prediction
	version, batch          string
	source                  event.Source
}

// stages holds the consumer's time in each stage.
type stages struct {
	decode, lookup, attach, infer, publish time.Duration
	batches, records                       int
}

func newTally(d *dataset.Dataset, now func() time.Time) *tally {
	t := &tally{labels: map[string]int32{}, now: now, sent: map[string]time.Time{}, published: map[string]time.Time{},
		answers: map[string]answer{}}
	for _, i := range d.Test {
		t.labels[d.IDs[i]] = d.Labels[i]
	}
	return t
}

// Rebalance is called by the consumer when it has joined its group.
func (t *tally) Rebalance(assigned []kafka.TopicPartition) {
	if len(assigned) > 0 {
		t.joined.Store(true)
	}
}

// Inside gives the tally the consumer's own figures.
func (t *tally) Inside(metrics *observe.Observer, version func() string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.metrics, t.version = metrics, version
}

// FollowsLabels is called by the consumer when it begins to read labels.
func (t *tally) FollowsLabels() { t.follows.Store(true) }

// ready reports whether the stream may begin.
func (t *tally) ready() bool {
	return t.joined.Load() && t.reading.Load() && (t.labeller == nil || t.follows.Load())
}

// byLabels returns the consumer's own figures; nil if no labels are published.
func (t *tally) byLabels() *Labels {
	if t.labeller == nil {
		return nil
	}
	t.mu.Lock()
	metrics := t.metrics
	t.mu.Unlock()
	return labelsOf(t.labeller.count(), metrics.LabelFigures())
}

// serves returns the version that the consumer serves.
func (t *tally) serves() string {
	t.mu.Lock()
	version := t.version
	t.mu.Unlock()
	return version()
}

// arrived records arrivals that are handed to Kafka now, with the times at which they were due.
func (t *tally) arrived(arrivals []event.Arrival) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first.IsZero() {
		t.first = arrivals[0].Time
	}
	for i := range arrivals {
		t.sent[arrivals[i].ID] = arrivals[i].Time
	}
}

// Batch is called by the consumer when a batch is published and its offsets are committed.
func (t *tally) Batch(s consumer.BatchStats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.Delivered.Predictions {
		id := s.Delivered.Predictions[i].ID
		if _, again := t.published[id]; !again {
			id = strings.Clone(id)
			t.published[id] = s.Published
			if sent, ok := t.sent[id]; ok {
				t.queued = append(t.queued, max(0, s.Started.Sub(sent)))
			}
		}
	}
	t.deadLetters += len(s.Delivered.DeadLetters)
	t.last = s.Published
	t.stages.decode += s.Decode
	t.stages.lookup += s.Lookup
	t.stages.attach += s.Attach
	t.stages.infer += s.Infer
	t.stages.publish += s.Encode + s.Publish + s.Commit
	t.stages.batches++
	t.stages.records += s.Records
}

// read takes one record of the predictions topic.
func (t *tally) read(p *event.Prediction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.predictions++
	if _, again := t.answers[p.ID]; again {
		return
	}
	t.answers[p.ID] = answer{int32(p.Class), p.Known, p.Arrivals, p.Unknown, p.Artifact, p.Batch, p.Source}
	t.order = append(t.order, p.ID)
	if y, test := t.labels[p.ID]; test {
		t.tested++
		t.right += count(y == int32(p.Class))
	}
}

// settled returns the number of finished arrivals: predicted and read, or dead.
func (t *tally) settled() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.answers) + t.deadLetters
}

// handed returns the number of arrivals that have been handed to Kafka.
func (t *tally) handed() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sent)
}

// latencies returns the times from arrival to publication of all predictions, ascending.
func (t *tally) latencies() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]time.Duration, 0, len(t.published))
	for id, at := range t.published {
		if sent, ok := t.sent[id]; ok {
			out = append(out, at.Sub(sent))
		}
	}
	slices.Sort(out)
	return out
}

// queueing returns the times from arrival to the forming of a batch of all predictions, ascending.
func (t *tally) queueing() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(slices.Values(t.queued))
}

// rate returns the predictions published per second, from the first arrival to the last prediction.
func (t *tally) rate() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if took := t.last.Sub(t.first).Seconds(); took > 0 {
		return float64(len(t.published)) / took
	}
	return 0
}

// batches returns the micro-batches that the stream formed, as indices of the data set, each in the order of its
// predictions.
func (t *tally) batches(d *dataset.Dataset) [][]int32 {
	node := map[string]int32{}
	for _, i := range d.Test {
		node[d.IDs[i]] = i
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := map[string]int{}
	var out [][]int32
	for _, id := range t.order {
		name := t.answers[id].batch
		k, ok := at[name]
		if !ok {
			k = len(out)
			at[name] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], node[id])
	}
	return out
}
