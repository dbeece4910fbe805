package consumer

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"rivulet/event"
	"rivulet/kafka"
)

// Canary has a candidate answer some arrivals in place of the version that serves, and publish its predictions with the
// others of the batch. The zero value has none.
type Canary struct {
	// Candidate is asked once a batch. Its Current is nil while there is no candidate.
	Candidate Versions
	// Share is how many of ten thousand keys are the candidate's. Which ones these are depends on the keys alone, so that
	// it is the same in all consumers, and after restarts and rebalances.
	Share int
}

// canaryParts is of how many parts of the keys [Canary.Share] counts some.
const canaryParts = 10_000

// takes reports whether an arrival is the candidate's. A record without a key is told by its place.
func (c Canary) takes(r *kafka.Record) bool {
	hash := xxhash.Sum64(r.Key)
	if r.Key == nil {
		var place [16]byte
		binary.LittleEndian.PutUint64(place[:], uint64(r.Position.Partition))
		binary.LittleEndian.PutUint64(place[8:], uint64(r.Position.Offset))
		hash = xxhash.Sum64(place[:])
	}
	return hash%canaryParts < uint64(c.Share)
}

// CanaryStats describe the part of a batch that a candidate answered.
type CanaryStats struct {
	Version              string
	Records, DeadLetters int
	Took                 time.Duration
}

// canary is the memory of the candidate's part of a batch.
type canary struct {
	candidate    Version   // nil: there is none now
	path         *Pipeline // up to predictions; nil before the first batch that has a part
	own, records []kafka.Record
	joined       map[kafka.Position][]event.Edge
}

// divide takes the candidate's records out of a batch. All records of a key are in one part, in their order.
func (p *Pipeline) divide(in *Intake) {
	if p.Canary.Candidate == nil {
		return
	}
	c := &p.canary
	if c.candidate = p.Canary.Candidate.Current(); c.candidate == nil {
		return
	}
	c.own, c.records, c.joined = c.own[:0], c.records[:0], in.Joined
	for i := range in.Records {
		if r := in.Records[i]; p.Canary.takes(&r) {
			c.records = append(c.records, r)
		} else {
			c.own = append(c.own, r)
		}
	}
	in.Records = c.own
}

// answerCanary has the candidate answer its part of a batch.
func (p *Pipeline) answerCanary(ctx context.Context, name string, b *batch, watch *stopwatch,
	stats *CanaryStats) error {
	c := &p.canary
	if c.candidate == nil || len(c.records) == 0 {
		return nil
	}
	if c.path == nil {
		c.path = &Pipeline{PipelineOptions: p.PipelineOptions, candidate: true}
	}
	b.canary = &c.path.batch
	if err := c.path.answer(ctx, c.candidate, Intake{Name: name, Records: c.records, Joined: c.joined},
		false); err != nil {
		return err
	}
	stats.Version, stats.Records = c.candidate.ID(), len(c.records)
	watch.lap(&stats.Took)
	return nil
}

// shed drops the candidate and the records: one record keeps the memory of its whole fetch alive.
func (c *canary) shed() {
	c.candidate, c.joined = nil, nil
	clear(c.own[:cap(c.own)])
	clear(c.records[:cap(c.records)])
}

// parts are the batch's own part and, if there is one, the candidate's.
func (b *batch) parts() []*batch {
	if b.canary == nil {
		return []*batch{b}
	}
	return []*batch{b, b.canary}
}

// joined is the output of a batch with that of the candidate's part behind it, predictions and dead letters each.
func joined(own, candidate event.Batch) event.Batch {
	tombstones := slices.Clip(own.Tombstones)
	for _, t := range candidate.Tombstones {
		t.Before += len(own.Predictions)
		tombstones = append(tombstones, t)
	}
	return event.Batch{Predictions: append(slices.Clip(own.Predictions), candidate.Predictions...),
		Answered:    append(slices.Clip(own.Answered), candidate.Answered...),
		DeadLetters: append(slices.Clip(own.DeadLetters), candidate.DeadLetters...), Tombstones: tombstones}
}

// refusals divides refusals, whose places count all predictions before all dead letters, between the two parts.
func (b *batch) refusals(by []kafka.Refusal) (own, candidate []kafka.Refusal) {
	o, c := b.output(), b.canary.output()
	n, m := len(o.Predictions), len(c.Predictions)
	for _, r := range by {
		switch dead := r.Place - n - m; {
		case r.Place < n:
			own = append(own, r)
		case dead < 0:
			r.Place -= n
			candidate = append(candidate, r)
		case dead < len(o.DeadLetters):
			r.Place -= m
			own = append(own, r)
		default:
			r.Place -= n + len(o.DeadLetters)
			candidate = append(candidate, r)
		}
	}
	return own, candidate
}
