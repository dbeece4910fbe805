package demo

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"rivulet/event"
	"rivulet/internal/replay"
)

// answer is what the stream said of an arrival.
type answer struct {
	class                   int32
	known, arrived, unknown int // neighbours, see event.Prediction
	version, batch          string
	source                  event.Source
}

// answers are those of one stream by which the graph grows.
type answers struct {
	plan  *plan
	tally *tally

	mu       sync.Mutex
	by       map[string]answer
	versions []string // in the order in which they first answered
	// Of test nodes, and of all: for the line.
	tested, right  int
	edges, unknown int
}

func newAnswers(p *plan, t *tally) *answers {
	return &answers{plan: p, tally: t, by: make(map[string]answer, len(p.order))}
}

// read takes one record of the predictions topic; of an arrival the first one counts.
func (a *answers) read(p *event.Prediction) {
	a.tally.read(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.by[p.ID]; again {
		return
	}
	a.by[p.ID] = answer{int32(p.Class), p.Known, p.Arrivals, p.Unknown, p.Artifact, p.Batch, p.Source}
	if !slices.Contains(a.versions, p.Artifact) {
		a.versions = append(a.versions, p.Artifact)
	}
	a.edges += p.Known + p.Arrivals + p.InBatch + p.Unknown
	a.unknown += p.Unknown
	if y, test := a.tally.labels[p.ID]; test {
		a.tested++
		if y == int32(p.Class) {
			a.right++
		}
	}
}

// hasFirst tells whether the first n arrivals have been predicted.
func (a *answers) hasFirst(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.by) < n {
		return false
	}
	for _, id := range a.plan.ids[:n] {
		if _, ok := a.by[id]; !ok {
			return false
		}
	}
	return true
}

// endOfFirst returns the next offsets in the topic of arrivals after the first n, which must have been predicted.
func (a *answers) endOfFirst(n int) map[event.TopicPartition]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	ends := map[event.TopicPartition]int64{}
	for _, id := range a.plan.ids[:n] {
		is := a.by[id].source
		at := event.TopicPartition{Topic: is.Topic, Partition: is.Partition}
		ends[at] = max(ends[at], is.Offset+1)
	}
	return ends
}

// line is how far the stream is, for a person.
func (a *answers) line(growth string) string {
	sent := a.tally.handed()
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf("growth %s: arrived %d of %d, predicted %d, accuracy on test nodes %.2f%%, unknown neighbours %.1f%%, versions %d",
		growth, sent, len(a.plan.order), len(a.by), share(a.right, a.tested), share(a.unknown, a.edges), len(a.versions))
}

// share is n of all in percent; 0 of none.
func share(n, all int) float64 { return 100 * float64(n) / float64(max(1, all)) }

// mixed is how many micro-batches have predictions of more than one version.
func (a *answers) mixed() int {
	of := map[string]string{}
	mixed := map[string]bool{}
	for _, is := range a.by {
		if version, met := of[is.batch]; met && version != is.version {
			mixed[is.batch] = true
		}
		of[is.batch] = is.version
	}
	return len(mixed)
}

// pauses are the times between publications of predictions, without those in which the stream was held.
type pauses struct {
	at   []time.Time    // of publications, ascending, each once
	held []*replay.Gate // at which the stream had to wait
}

func newPauses(published map[string]time.Time, gates []*replay.Gate) pauses {
	p := pauses{held: slices.DeleteFunc(slices.Clone(gates), func(g *replay.Gate) bool { return g.From.IsZero() })}
	for _, at := range published {
		p.at = append(p.at, at)
	}
	slices.SortFunc(p.at, time.Time.Compare)
	p.at = slices.CompactFunc(p.at, time.Time.Equal)
	return p
}

// longest is the longest pause any part of which is between two times.
func (p pauses) longest(from, to time.Time) time.Duration {
	var longest time.Duration
	for k := 1; k < len(p.at); k++ {
		a, b := p.at[k-1], p.at[k]
		if b.Before(from) || a.After(to) {
			continue
		}
		pause := b.Sub(a)
		for _, h := range p.held {
			if begin, end := later(a, h.From), earlier(b, h.To); end.After(begin) {
				pause -= end.Sub(begin)
			}
		}
		longest = max(longest, pause)
	}
	return longest
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
