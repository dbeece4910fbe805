package logs

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/monitor"
	"rivulet/kafka"
)

// A journal writes the first shownLetters dead letters of each period of shownEvery, and counts the others.
const (
	shownLetters = 10
	shownEvery   = time.Minute
)

// Journal logs batches: at level debug a line a batch, at level warn a line a dead letter, the first ten of a minute
// and then the number of further ones, the first unknown category of each feature, at level info the first edge
// between two nodes of the graph, and a summary at
// the end. It is safe for concurrent use and has no goroutine.
type Journal struct {
	consumer.NopObserver
	log   *slog.Logger
	clock consumer.Clock
	begun time.Time

	mu                     sync.Mutex
	totals                 totals
	since                  time.Time // when the period of dead letters began
	shown                  int       // dead letters that were logged in it
	hidden                 map[string]int
	unseen                 map[string]bool // features whose first unknown category was logged
	old                    bool            // edges between nodes of the graph have been seen
	apart                  bool            // edges of their own were passed over, as arrivals do not wait for any
	ahead                  int             // records with timestamps too far ahead that have no line yet
	saidAhead, saidOverdue time.Time
}

// totals are the figures of the summary.
type totals struct {
	batches, records, predictions, deadLetters, degraded, generations, retries int
}

var _ consumer.Observer = (*Journal)(nil)

// NewJournal returns a journal; a nil clock is the machine's.
func NewJournal(log *slog.Logger, clock consumer.Clock) *Journal {
	if clock == nil {
		clock = consumer.SystemClock{}
	}
	return &Journal{log: log, clock: clock, begun: clock.Now(), hidden: map[string]int{}, unseen: map[string]bool{}}
}

// Batch writes the line of a batch and the lines of its dead letters.
func (j *Journal) Batch(s consumer.BatchStats) {
	now := j.clock.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	degraded := 0
	for i := range s.Delivered.Predictions {
		if s.Delivered.Predictions[i].Degraded {
			degraded++
		}
	}
	j.totals.batches++
	j.totals.records += s.Records
	j.totals.predictions += len(s.Delivered.Predictions)
	j.totals.deadLetters += len(s.Delivered.DeadLetters)
	j.totals.degraded += degraded
	if j.log.Enabled(context.Background(), slog.LevelDebug) {
		j.log.Debug("batch delivered", "batch", s.Name, "version", s.Version, "records", s.Records, "predictions",
			len(s.Delivered.Predictions),
			"dead_letters", len(s.Delivered.DeadLetters), "degraded", degraded, "known_neighbours", s.Known,
			"unknown_neighbours", s.Unknown, "took", s.Published.Sub(s.Started).Round(time.Microsecond))
	}
	if now.Sub(j.since) >= shownEvery {
		j.sayHidden()
		j.since, j.shown = now, 0
	}
	if edges := edgesPassedOver(s.Skipped); edges > 0 && !j.apart {
		j.apart = true
		j.log.Warn("edges came as records of their own and are passed over, as arrivals do not wait for edges: set "+
			"attach.wait. rivulet_skipped_records_total counts them", "batch", s.Name, "edges", edges)
	}
	for _, of := range s.Values {
		if of.Unseen > 0 && !j.unseen[of.Feature] {
			j.unseen[of.Feature] = true
			j.log.Warn("a category is none that the model knows: arrivals with such a value are predicted by the number of all "+
				"others. rivulet_feature_values_total counts them by feature", "feature", of.Feature, "value", of.Example, "batch",
				s.Name)
		}
	}
	for i := range s.Delivered.DeadLetters {
		j.deadLetter(&s.Delivered.DeadLetters[i])
	}
	if s.OldEdges > 0 && !j.old {
		j.old = true
		j.log.Info("an edge joins two nodes of the graph: their rows of M stay, as neither their features nor their degrees "+
			"are stored, and predictions have the edge after the next trainer refresh; rivulet_old_edges_total counts such "+
			"edges",
			"batch", s.Name, "edges", s.OldEdges)
	}
}

// edgesPassedOver counts the edges among records that were passed over.
func edgesPassedOver(skipped []read.Skip) (edges int) {
	for _, kind := range skipped {
		if kind == read.SkipEdge {
			edges++
		}
	}
	return edges
}

// deadLetter writes the line of a dead letter, or counts it.
func (j *Journal) deadLetter(d *event.DeadLetter) {
	if j.shown == shownLetters {
		j.hidden[d.Reason]++
		return
	}
	j.shown++
	j.log.Warn("dead letter", "id", fmt.Sprintf("%.80s", d.Key), "topic", d.Source.Topic, "partition",
		d.Source.Partition, "offset", d.Source.Offset, "reason", d.Reason, "detail", d.Detail)
}

// sayHidden writes how many dead letters had no line of their own, by reason.
func (j *Journal) sayHidden() {
	if len(j.hidden) == 0 {
		return
	}
	n := 0
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(j.hidden)) {
		n += j.hidden[reason]
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, j.hidden[reason]))
	}
	j.log.Warn("more dead letters, which have no line of their own", "dead_letters", n, "reasons",
		strings.Join(reasons, ", "))
	clear(j.hidden)
}

// Window warns of arrivals that wait too long for edges, and of timestamps that are too far ahead: once a minute each.
func (j *Journal) Window(at kafka.TopicPartition, s window.Stats) {
	now := j.clock.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ahead += s.Ahead; j.ahead > 0 && now.Sub(j.saidAhead) >= shownEvery {
		j.log.Warn("timestamps are far ahead of those before them in their partition: these records wait for edges as if "+
			"they were stamped with the newest time before them. A producer's clock is wrong, or the stream had a gap",
			"records", j.ahead, "topic", at.Topic, "partition", at.Partition)
		j.saidAhead, j.ahead = now, 0
	}
	if s.Overdue >= monitor.ReadyWithin && now.Sub(j.saidOverdue) >= shownEvery {
		j.log.Warn("an arrival holds its partition, as no timestamp there has passed its own by attach.wait: the consumer "+
			"is not ready. It is answered once such a record comes, the partition is idle or attach.wait_bytes is full",
			"topic", at.Topic, "partition", at.Partition, "offset", s.First.Offset, "held", s.Held.Round(time.Second),
			"arrivals_behind", s.Arrivals)
		j.saidOverdue = now
	}
}

// Rebalance counts a generation of the group.
func (j *Journal) Rebalance([]kafka.TopicPartition) {
	j.mu.Lock()
	j.totals.generations++
	j.mu.Unlock()
}

// Retry counts a repeated attempt.
func (j *Journal) Retry(string, error) {
	j.mu.Lock()
	j.totals.retries++
	j.mu.Unlock()
}

// Summary writes the last line: the totals since the journal was made, and the error with which the consumer ends, if
// any.
func (j *Journal) Summary(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sayHidden()
	t := j.totals
	counts := []any{"ran", j.clock.Now().Sub(j.begun).Round(time.Millisecond), "records", t.records, "predictions",
		t.predictions,
		"dead_letters", t.deadLetters, "degraded", t.degraded, "batches", t.batches, "generations", t.generations,
		"retries", t.retries}
	if err != nil {
		j.log.Error("the consumer has ended with an error", append([]any{"error", err}, counts...)...)
		return
	}
	j.log.Info("the consumer has ended", counts...)
}
