package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/group"
	"rivulet/kafka/retry"
)

// Generation is one generation of the consumer group: the right to read and to commit for the partitions that it
// assigned.
type Generation struct {
	source    *Source
	in        group.Membership
	rebalance context.Context
	stop      chan struct{} // closed to end the heartbeats
	silent    chan struct{} // closed when they have ended

	trail *trail

	committing  sync.Mutex // held while a request to commit is under way
	coordinator int32      // the broker's id; -1: it is not known
	failure     error      // of the commit that failed: the generation is over
}

var _ Committer = (*Generation)(nil)

// Rebalance returns a context that is done when the group begins to rebalance, or the coordinator is lost. The group
// waits for [Generation.End], for the rebalance timeout at most.
func (g *Generation) Rebalance() context.Context { return g.rebalance }

// Member returns this process in the generation.
func (g *Generation) Member() Member {
	return Member{Group: g.source.opts.Group, Instance: g.source.opts.Instance, ID: g.in.ID,
		Generation: g.in.Generation, trail: g.trail}
}

// Assigned returns the partitions.
func (g *Generation) Assigned() []TopicPartition { return g.in.Partitions }

// heartbeats counts the heartbeats of a generation and their failures.
type heartbeats struct {
	coordinator int32     // the broker's id; -1: it is asked for
	heard       time.Time // of the last answer
}

// beat sends a heartbeat, and reports whether the generation goes on. The group keeps a member that sends heartbeats,
// also while a rebalance waits for its last batches. A coordinator that moves, or cannot be reached for a moment, is
// asked for anew; the generation is over where none has answered for a whole session.
func (g *Generation) beat(ctx context.Context, h *heartbeats) bool {
	s := g.source
	var err error
	if h.coordinator < 0 {
		h.coordinator, err = s.client.coordinator(ctx, s.opts.Group)
	}
	if err == nil {
		err = s.group.Beat(ctx, g.in, h.coordinator)
	}
	now := s.with.Clock.Now()
	switch {
	case err == nil:
		h.heard = now
		return true
	case retry.Judge(err) != retry.Retriable: // a rebalance has begun, or another member has taken over
		return false
	}
	h.coordinator = -1
	return now.Sub(h.heard) < s.opts.SessionTimeout
}

// hush ends the heartbeats.
func (g *Generation) hush() {
	select {
	case <-g.silent:
	default:
		close(g.stop)
		<-g.silent
	}
}

// Commit stores the next offsets to read. A coordinator that moves, or cannot be reached for a while, is waited for:
// the members of the group keep their partitions meanwhile, as they do for heartbeats. Other refusals end the
// generation, and so does a newer one that has begun: the records are read again, and those behind them.
func (g *Generation) Commit(ctx context.Context, next Offsets) error {
	g.committing.Lock()
	defer g.committing.Unlock()
	if g.failure == nil {
		attempts := g.source.committing.Attempts()
		err := attempts.RepeatIf(ctx, retry.Away, func() (err error) {
			g.coordinator, err = g.source.client.commitMarked(ctx, g.Member(), next, g.coordinator)
			return err
		})
		if err == nil {
			return nil
		}
		attempts.GiveUp()
		if ctx.Err() != nil { // a request that was cut off says only that
			err = context.Cause(ctx)
		}
		g.failure = fmt.Errorf("%w: generation %d: %w", retry.ErrGeneration, g.in.Generation, err)
	}
	return fmt.Errorf("committing offsets: %w", g.failure)
}

// Cursors returns a cursor for each assigned partition, at the group's offset or, if it has none, as
// SourceOptions.Start says. It waits for brokers. It returns an error when ctx has ended, for a failure that ends the
// generation, and for one that waiting does not mend.
//
// kafka-go's group gives offsets too, but takes an error of the coordinator for "none committed"; with Latest, records
// would be left out.
func (g *Generation) Cursors(ctx context.Context) ([]*Cursor, error) {
	s := g.source
	// The first failures are not worth a line: connections from before a restart of the brokers break.
	outage := s.with.Outage(retry.StageOffsets, "group", s.opts.Group).GiveUpAt(retry.GenerationOver).Quiet(2).
		StartsOver(s.client.startsOverInGeneration())
	var places map[TopicPartition]place
	if err := outage.Attempts().Repeat(ctx, func() (err error) {
		places, err = g.places(ctx)
		return err
	}); err != nil {
		return nil, err
	}
	s.joining.Over()
	share := max(bufferBytes/(2*max(1, len(places))), 64<<10)
	s.memory.last = make(map[TopicPartition]*Cursor, len(places))
	for at, p := range places {
		c := s.client.cursor(at, p.offset, min(s.opts.FetchBytes, share), s.opts.RecordBytes, s.opts.FetchWait, s.with)
		c.ofGroup(g.trail, p.mark)
		s.memory.last[at] = c
	}
	cursors := slices.Collect(maps.Values(s.memory.last))
	s.client.spread(ctx, cursors)
	return cursors, nil
}

// Changed waits until the members have to share out the partitions anew: a topic has partitions that nobody was
// assigned, or lacks one that this member was assigned, or was deleted and is there again, where the old topic's
// offsets mean nothing. It reports false if ctx ends before that. While a topic is missing it waits: there is nothing
// to share.
func (g *Generation) Changed(ctx context.Context) bool {
	s := g.source
	for missing, complete := false, false; ; {
		if retry.Sleep(ctx, s.with.Clock, s.opts.WatchInterval) != nil {
			return false
		}
		views, err := s.client.look(ctx, s.opts.Topics...)
		if err != nil {
			missing = missing || errors.Is(err, kafkago.UnknownTopicOrPartition)
			continue // the cursors report it
		}
		others := s.balancer.saw(views)
		if missing || g.trail.left(views) {
			return true
		}
		if gone := g.gone(views); gone != nil {
			if s.balancer.ask(s.with.Clock.Now(), s.opts.WatchInterval) {
				s.with.Logger.Warn("a partition is assigned and does not exist: joining the group again", "group", s.opts.Group,
					"topic", gone.Topic, "partition", gone.Partition)
				return true
			}
			continue
		}
		if complete && !others {
			continue
		}
		lacking, err := s.client.unassigned(ctx, s.opts.Group, views)
		complete = err == nil && lacking == nil
		switch {
		case complete:
			s.balancer.complete()
		case others:
			return true // the group may not know them yet
		case lacking != nil && s.balancer.ask(s.with.Clock.Now(), s.opts.WatchInterval):
			s.with.Logger.Warn("a partition is assigned to nobody: joining the group again", "group", s.opts.Group,
				"topic", lacking.Topic, "partition", lacking.Partition)
			return true
		}
	}
}

// gone returns a partition of this member that its topic does not have, nil if there is none.
func (g *Generation) gone(topics map[string]topicView) *TopicPartition {
	for _, at := range g.Assigned() {
		if at.Partition >= topics[at.Topic].partitions {
			return &at
		}
	}
	return nil
}

// End lets the group go on to its next generation, when nothing of this one is under way any more. cause is why it
// ended, nil for a rebalance; a failure is waited over first, so that a member that fails at once does not join
// again and again. It returns an error for a cause that no other generation mends, and if ctx has ended; the generation
// is then ended by [Source.Leave].
func (g *Generation) End(ctx context.Context, cause error) error {
	if cause != nil && !g.source.takenOver(cause) {
		if err := g.source.joining.Failed(ctx, cause); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g.hush()
	return nil
}

// unassigned returns a partition that a topic has and no member of the group was assigned, nil if there is none.
func (c *Client) unassigned(ctx context.Context, group string, topics map[string]topicView) (*TopicPartition, error) {
	client := kafkago.Client{Addr: c.addr, Transport: c}
	answer, err := client.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{group}})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the assignment of group %s: %w", group, err)
	case len(answer.Groups) != 1:
		return nil, fmt.Errorf("reading the assignment of group %s: %d groups in the answer", group, len(answer.Groups))
	case answer.Groups[0].Error != nil:
		return nil, fmt.Errorf("reading the assignment of group %s: %w", group, answer.Groups[0].Error)
	case answer.Groups[0].GroupState != "Stable":
		return nil, fmt.Errorf("reading the assignment of group %s: %w", group, kafkago.RebalanceInProgress)
	}
	assigned := make(map[TopicPartition]bool)
	for _, m := range answer.Groups[0].Members {
		for _, t := range m.MemberAssignments.Topics {
			for _, id := range t.Partitions {
				assigned[TopicPartition{Topic: t.Topic, Partition: id}] = true
			}
		}
	}
	for topic, v := range topics {
		for id := range v.partitions {
			if at := (TopicPartition{Topic: topic, Partition: id}); !assigned[at] {
				return &at, nil
			}
		}
	}
	return nil, nil
}
