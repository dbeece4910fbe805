package demo

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"rivulet/internal/replay"
	"rivulet/kafka"
)

// hasFirst reports whether the first n arrivals of a plan have been predicted.
func (t *tally) hasFirst(n int, p *plan) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.answers) >= n && !slices.ContainsFunc(p.ids[:n], func(id string) bool {
		_, answered := t.answers[id]
		return !answered
	})
}

// endOfFirst returns the next offsets in the topic of arrivals after the first n, which must have been predicted.
func (t *tally) endOfFirst(n int, p *plan) map[kafka.TopicPartition]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	ends := map[kafka.TopicPartition]int64{}
	for _, id := range p.ids[:n] {
		is := t.answers[id].source
		at := kafka.TopicPartition{Topic: is.Topic, Partition: is.Partition}
		ends[at] = max(ends[at], is.Offset+1)
	}
	return ends
}

// growing returns the progress of a stream by which the graph grows, in words.
func (t *tally) growing(growth string, p *plan) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	edges, unknown := 0, 0
	for _, a := range t.answers {
		edges += a.known + a.arrived + a.unknown
		unknown += a.unknown
	}
	return fmt.Sprintf("growth %s: arrived %d of %d, predicted %d, accuracy on test nodes %.2f%%, unknown neighbours "+
		"%.1f%%, versions %d",
		growth, len(t.sent), len(p.order), len(t.answers), share(t.right, t.tested), share(unknown, edges), len(t.versions()))
}

// versions returns the versions that answered, in the order in which they began to.
func (t *tally) versions() (all []string) {
	for _, id := range t.order {
		if version := t.answers[id].version; !slices.Contains(all, version) {
			all = append(all, version)
		}
	}
	return all
}

// share returns n of all in percent; 0 if there are none.
func share(n, all int) float64 { return 100 * float64(n) / float64(max(1, all)) }

// mixed returns the number of micro-batches that have predictions of more than one version.
func (t *tally) mixed() int {
	of := map[string]string{}
	mixed := map[string]bool{}
	for _, is := range t.answers {
		if version, met := of[is.batch]; met && version != is.version {
			mixed[is.batch] = true
		}
		of[is.batch] = is.version
	}
	return len(mixed)
}

// pauses holds the times of publications, to find the pauses between them without those in which the stream was
// held.
type pauses struct {
	at   []time.Time    // when predictions were published, ascending, each time once
	held []*replay.Gate // at which the stream had to wait
}

func newPauses(published map[string]time.Time, gates []*replay.Gate) pauses {
	p := pauses{held: slices.DeleteFunc(slices.Clone(gates), func(g *replay.Gate) bool { return g.From.IsZero() })}
	p.at = slices.CompactFunc(slices.SortedFunc(maps.Values(published), time.Time.Compare), time.Time.Equal)
	return p
}

// longest returns the longest pause that overlaps the time between from and to.
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
