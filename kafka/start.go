package kafka

import (
	"context"
	"errors"
	"maps"
	"slices"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// begin fills in where to start in partitions for which the group has no offset.
//
// SourceOptions.Start is for a topic for which the group has no offset at all. It is chosen once: the member with the
// topic's first partition commits a position for every partition, in one request and before anything is read; the other
// members wait for that. From then on a partition without an offset is one that was added later, and all its records
// have come since: it is read from its beginning, no matter which members ran when it was added.
func (g *Generation) begin(ctx context.Context, offsets Offsets) error {
	for topic, own := range wire.ByTopic(maps.Keys(offsets)) {
		missing := slices.DeleteFunc(slices.Clone(own),
			func(id int32) bool { return offsets[TopicPartition{Topic: topic, Partition: int(id)}] >= 0 })
		var start Offsets
		var err error
		if len(missing) == len(own) && g.source.opts.Start != Earliest {
			if start, err = g.start(ctx, topic, own); err != nil {
				return err
			}
		}
		for _, id := range missing {
			at := TopicPartition{Topic: topic, Partition: int(id)}
			if offset, committed := start[at]; committed && offset >= 0 {
				offsets[at] = offset
			} else if offsets[at], err = g.source.client.boundary(ctx, at, kafkago.FirstOffset); err != nil {
				return err
			}
		}
		g.source.begun[topic] = 0 // if its offsets are gone later, it was made anew
	}
	return nil
}

// start returns the group's offsets of all partitions of a topic. own are this member's partitions. If no partition has
// an offset, start chooses and commits all of them, or waits for the member that does.
func (g *Generation) start(ctx context.Context, topic string, own []int32) (Offsets, error) {
	s := g.source
	views, err := s.client.look(ctx, topic)
	if err != nil {
		return nil, err
	}
	all := make([]TopicPartition, views[topic].partitions)
	for id := range all {
		all[id] = TopicPartition{Topic: topic, Partition: id}
	}
	outage := s.with.Outage(retry.StageOffsets, "group", s.opts.Group).GiveUpAt(retry.GenerationOver).Quiet(quietStarts).
		StartsOver(s.client.startsOverInGeneration())
	var offsets Offsets
	none := false
	err = outage.Attempts().Repeat(ctx, func() (err error) {
		// Not the stable ones: whether another member is in a transaction does not matter for the start.
		if offsets, err = s.client.groupOffsets(ctx, s.opts.Group, all, false); err != nil {
			return err
		}
		if none = slices.Max(slices.Collect(maps.Values(offsets))) < 0; none && !slices.Contains(own, 0) {
			return errNotStarted
		}
		return nil
	})
	if err == nil && none {
		err = g.choose(ctx, offsets)
	}
	return offsets, err
}

// quietStarts is the number of times that a member asks whether the group's start is committed before it logs that it
// waits: for about three seconds.
const quietStarts = 6

// errNotStarted is why a member waits before it reads a topic for which the group has no offset.
var errNotStarted = errors.New(
	"the member that reads the topic's first partition has not committed yet where the group starts")

// choose fills in where the group starts in each partition, and commits that.
func (g *Generation) choose(ctx context.Context, offsets Offsets) error {
	passed := make(map[string]int64)
	for at := range offsets {
		var err error
		if offsets[at], err = g.source.first(ctx, at); err != nil {
			return err
		}
		begins, err := g.source.client.boundary(ctx, at, kafkago.FirstOffset)
		if err != nil {
			return err
		}
		passed[at.Topic] += max(0, offsets[at]-begins)
	}
	if err := g.Commit(ctx, offsets); err != nil {
		return err
	}
	for topic, records := range passed {
		if records > 0 {
			g.source.with.Logger.Warn("the group has no offset in the topic, so earlier records of it are passed over: "+
				"if the topic was made anew while no consumer ran, Kafka has forgotten the group's offsets with the old topic, "+
				"and these are arrivals without an answer", "group", g.source.opts.Group, "topic", topic,
				"start_offset", g.source.opts.Start, "passed_over", records)
		}
	}
	return nil
}

// recall has a group without offsets read its topics from their beginning if it had offsets once. Kafka forgets a
// group's offsets with a deleted topic. Were the topic made anew while no member ran, then SourceOptions.Start would
// leave out what it has got since. The coordinator keeps the empty group for a while (ten minutes by Kafka's default),
// and a group that had members has committed at least its start: so one that is empty and has no offsets has lost them.
// A group that Kafka does not know is new.
//
// It is done once, before this process joins: a commit without a generation is accepted only while there are no
// members.
func (s *Source) recall(ctx context.Context) error {
	if s.recalled || s.opts.Start == Earliest {
		return nil
	}
	empty, err := s.client.emptyGroup(ctx, s.opts.Group)
	if err != nil || !empty {
		s.recalled = err == nil
		return err
	}
	start := make(Offsets)
	for topic, n := range s.begun {
		for id := range n {
			at := TopicPartition{Topic: topic, Partition: id}
			if start[at], err = s.client.boundary(ctx, at, kafkago.FirstOffset); err != nil {
				return err
			}
		}
	}
	_, err = s.client.commitMarked(ctx, Member{Group: s.opts.Group, Generation: -1}, start, -1)
	if err == nil {
		s.with.Logger.Warn("the group has consumed before, and Kafka has forgotten its offsets, as it does when a "+
			"topic is deleted: the topics are read from their beginning. To start elsewhere, delete the group "+
			"(kafka-consumer-groups --delete) while no consumer runs", "group", s.opts.Group, "topics",
			s.opts.Topics, "start_offset", s.opts.Start)
	}
	if err != nil && retry.Judge(err) == retry.GenerationOver {
		err = nil // another member is there already, and has seen the same
	}
	s.recalled = err == nil
	return err
}

// first returns where the group starts in a partition. A partition that was made after Await began is read from its
// beginning.
func (s *Source) first(ctx context.Context, at TopicPartition) (int64, error) {
	if at.Partition >= s.begun[at.Topic] {
		return s.client.boundary(ctx, at, kafkago.FirstOffset)
	}
	if s.opts.Start == AtTime {
		offset, err := s.client.boundary(ctx, at, s.opts.StartTime.UnixMilli())
		if err != nil || offset >= 0 {
			return offset, err
		}
		// All records are older, or there are none.
	}
	return s.client.boundary(ctx, at, kafkago.LastOffset)
}
