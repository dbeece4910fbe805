package demo

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/quantile"
	"rivulet/kafka"
)

// tally counts what becomes of every arrival. It is written by the replay, the consumer and the reader at once.
type tally struct {
	consumer.NopObserver
	joined  atomic.Bool      // the consumer has its partitions
	reading atomic.Bool      // predictions are read
	classes map[string]int32 // class of each test node
	now     func() time.Time

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
	batch                   string
}

// stages holds the consumer's time in each stage.
type stages struct {
	decode, lookup, infer, publish time.Duration
	batches                        int
}

func newTally(d *dataset.Dataset, now func() time.Time) *tally {
	t := &tally{classes: map[string]int32{}, now: now, sent: map[string]time.Time{}, published: map[string]time.Time{},
		answers: map[string]answer{}}
	for _, i := range d.Test {
		t.classes[d.IDs[i]] = d.Labels[i]
	}
	return t
}

// Rebalance is called by the consumer when it has joined its group.
func (t *tally) Rebalance(assigned []kafka.TopicPartition) {
	if len(assigned) > 0 {
		t.joined.Store(true)
	}
}

// ready reports whether the stream may begin.
func (t *tally) ready() bool { return t.joined.Load() && t.reading.Load() }

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
	t.stages.infer += s.Attach + s.Infer
	t.stages.publish += s.Encode + s.Publish + s.Commit
	t.stages.batches++
}

// read takes one record of the predictions topic.
func (t *tally) read(p *event.Prediction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.predictions++
	if _, again := t.answers[p.ID]; again {
		return
	}
	t.answers[p.ID] = answer{int32(p.Class), p.Known, p.Arrivals, p.Unknown, p.Batch}
	t.order = append(t.order, p.ID)
	if y, test := t.classes[p.ID]; test {
		t.tested++
		t.right += count(y == int32(p.Class))
	}
}

// progress returns how many arrivals are finished, predicted and read or dead, and how many were handed to Kafka.
func (t *tally) progress() (settled, sent int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.answers) + t.deadLetters, len(t.sent)
}

// line returns the stream's progress in words.
func (t *tally) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.latency()
	return fmt.Sprintf("arrived %d, predicted %d, %.0f nodes/s, p50 %.1f ms, p99 %.1f ms, accuracy %.2f%%",
		len(t.sent), len(t.answers), t.rate(), l.P50, l.P99, share(t.right, t.tested))
}

// accuracy returns the share of the test nodes' answers that are right, in percent.
func (t *tally) accuracy() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return share(t.right, t.tested)
}

// delivery returns the figures of a stream of so many arrivals that were sent at a rate.
func (t *tally) delivery(arrivals int, rate float64) Delivery {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Delivery{Arrivals: len(t.sent), Predicted: len(t.answers), DeadLetters: t.deadLetters,
		Missing: arrivals - len(t.answers) - t.deadLetters, Duplicates: t.predictions - len(t.answers),
		Rate: rate, NodesPerSecond: t.rate(), Batches: t.stages.batches, Latency: t.latency(),
		Queueing: latencyOf(slices.Sorted(slices.Values(t.queued))), Shares: t.stages.shares(t.last.Sub(t.first))}
}

// latency is from arrival to publication. The caller holds the lock, as for rate.
func (t *tally) latency() Latency {
	all := make([]time.Duration, 0, len(t.published))
	for id, at := range t.published {
		if sent, ok := t.sent[id]; ok {
			all = append(all, at.Sub(sent))
		}
	}
	slices.Sort(all)
	return latencyOf(all)
}

func latencyOf(sorted []time.Duration) Latency {
	return Latency{quantile.Of(sorted, 0.5), quantile.Of(sorted, 0.99), quantile.Of(sorted, 1)}
}

// rate returns the predictions published per second, from the first arrival to the last prediction.
func (t *tally) rate() float64 {
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

// shares returns the shares of the lanes' time: a lane is in one stage at a time, or waits for arrivals or for the
// lane before it.
func (s *stages) shares(took time.Duration) Shares {
	all := float64(took) * consumer.DefaultLanes
	if all <= 0 {
		return Shares{}
	}
	part := func(d time.Duration) float64 { return float64(d) / all }
	r := Shares{Decode: part(s.decode), Lookup: part(s.lookup), Infer: part(s.infer), Publish: part(s.publish)}
	r.Rest = 1 - r.Decode - r.Lookup - r.Infer - r.Publish
	return r
}

// share returns n of all in percent; 0 if there are none.
func share(n, all int) float64 { return 100 * float64(n) / float64(max(1, all)) }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
