package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"

	kafkago "github.com/segmentio/kafka-go"
)

// Generation is one generation of the consumer group: the right to read and to commit for the partitions that it
// assigned.
type Generation struct {
	source    *Source
	joined    *kafkago.Generation
	rebalance context.Context
	over      chan struct{}
}

var _ Committer = (*Generation)(nil)

// Rebalance returns a context that is done when the group begins to rebalance, or the coordinator is lost. The group
// waits for [Generation.End], for the rebalance timeout at most.
func (g *Generation) Rebalance() context.Context { return g.rebalance }

// Member returns this process in the generation.
func (g *Generation) Member() Member {
	return Member{Group: g.joined.GroupID, ID: g.joined.MemberID, Generation: g.joined.ID}
}

// Assigned returns the partitions.
func (g *Generation) Assigned() []TopicPartition {
	var assigned []TopicPartition
	for topic, partitions := range g.joined.Assignments {
		for _, p := range partitions {
			assigned = append(assigned, TopicPartition{topic, p.ID})
		}
	}
	return assigned
}

// Commit stores the next offsets to read. The broker refuses it once a newer generation has begun.
func (g *Generation) Commit(_ context.Context, next Offsets) error {
	offsets := make(map[string]map[int]int64, 1)
	for at, offset := range next {
		if offsets[at.Topic] == nil {
			offsets[at.Topic] = make(map[int]int64, len(next))
		}
		offsets[at.Topic][at.Partition] = offset
	}
	if err := g.joined.CommitOffsets(offsets); err != nil {
		return fmt.Errorf("%w: generation %d: %w", ErrGeneration, g.joined.ID, err)
	}
	return nil
}

// Cursors returns a cursor for each assigned partition: at the group's offset or, where it has none, as
// SourceOptions.Start says. It waits for brokers. It returns an error for what does not mend by itself or ends the
// generation, or when ctx has ended.
//
// kafka-go's group gives offsets too, but takes an error of the coordinator for "none committed"; with Latest that
// would leave records out.
func (g *Generation) Cursors(ctx context.Context) ([]*Cursor, error) {
	s := g.source
	outage := s.with.Outage(StageOffsets, "group", s.opts.Group)
	outage.giveUp = GenerationOver
	for trouble := outage.Attempts(); ; {
		offsets, err := s.client.committed(ctx, s.opts.Group, g.Assigned())
		if err == nil {
			err = g.begin(ctx, offsets)
		}
		if err == nil {
			trouble.Over()
			s.joining.Over()
			cursors := make([]*Cursor, 0, len(offsets))
			share := max(bufferBytes/(2*max(1, len(offsets))), 64<<10)
			for at, offset := range offsets {
				cursors = append(cursors, s.client.cursor(at, offset, min(s.opts.FetchBytes, share), s.opts.RecordBytes, s.opts.FetchWait, s.with))
			}
			return cursors, nil
		}
		if err := trouble.Failed(ctx, err); err != nil {
			return nil, err
		}
	}
}

// begin fills in where to start partitions without an offset. A start that is not the earliest is committed at once:
// otherwise what arrives before the first commit would be left out by the next owner.
func (g *Generation) begin(ctx context.Context, offsets Offsets) error {
	chosen := make(Offsets)
	for at, offset := range offsets {
		if offset >= 0 {
			continue
		}
		first, err := g.source.first(ctx, at)
		if err != nil {
			return err
		}
		offsets[at] = first
		if g.source.opts.Start != Earliest {
			chosen[at] = first
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	return g.Commit(ctx, chosen)
}

// first is where to start a partition without an offset. One that was made after Await began has nothing that is
// older, so Latest is its beginning.
func (s *Source) first(ctx context.Context, at TopicPartition) (int64, error) {
	which := int64(kafkago.FirstOffset)
	switch {
	case s.opts.Start == Latest && at.Partition < s.begun[at.Topic]:
		which = kafkago.LastOffset
	case s.opts.Start == AtTime:
		offset, err := s.client.boundary(ctx, at, s.opts.StartTime.UnixMilli())
		if err != nil || offset >= 0 {
			return offset, err
		}
		which = kafkago.LastOffset // all records are older, or there are none
	}
	return s.client.boundary(ctx, at, which)
}

// Changed waits until the topics have other partitions than before the join, or were deleted and are there again: the
// offsets of a deleted topic say nothing of the new one. It reports false if ctx ends before that. While a topic is
// missing it waits: joining anew would have kafka-go create the topic where the brokers allow that.
func (g *Generation) Changed(ctx context.Context) bool {
	s := g.source
	for missing := false; ; {
		if sleep(ctx, s.with.Clock, s.opts.WatchInterval) != nil {
			return false
		}
		counts, err := s.client.countPartitions(ctx, s.opts.Topics...)
		if err != nil {
			missing = missing || errors.Is(err, kafkago.UnknownTopicOrPartition)
			continue // the cursors say what is wrong
		}
		if missing || !maps.Equal(counts, s.partitions) {
			s.partitions = counts
			return true
		}
	}
}

// End lets the group go on to its next generation, when nothing of this one is under way any more. cause is why it
// ended, nil for a rebalance; a failure is waited over first, so that a member that fails at once does not join again
// and again. It returns an error if ctx has ended; the generation is then ended by [Source.Leave].
func (g *Generation) End(ctx context.Context, cause error) error {
	if cause != nil {
		if err := g.source.joining.Failed(ctx, cause); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	close(g.over)
	return nil
}
