package kafka

import (
	"context"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
)

// place is where a cursor begins.
type place struct {
	offset   int64
	mark     commitMark
	metadata string // as stored beside the offset
}

// memory keeps a source's knowledge of its topics from one generation to the next.
type memory struct {
	ids    map[string]topicID         // by topic
	remade map[string]bool            // topics that were deleted and made anew
	last   map[TopicPartition]*Cursor // of the last generation
	said   bool                       // the warning about brokers without topic ids was logged
}

// learn takes the topics' present ids.
func (m *memory) learn(ids map[string]topicID) {
	if m.ids == nil {
		m.ids, m.remade = make(map[string]topicID), make(map[string]bool)
	}
	for topic, id := range ids {
		if was, ok := m.ids[topic]; ok && was != id {
			m.remade[topic] = true
		}
		m.ids[topic] = id
	}
}

// places returns where to begin each assigned partition: at the group's offset, or as SourceOptions.Start says. An
// offset of a deleted topic does not hold for a new topic of that name, which is read from its beginning.
func (g *Generation) places(ctx context.Context) (map[TopicPartition]place, error) {
	s := g.source
	ids, known, err := s.client.topicIDs(ctx, s.opts.Topics...)
	switch {
	case err != nil:
		return nil, err
	case !known && !s.memory.said:
		s.memory.said = true
		s.with.Logger.Warn("the brokers do not know topics by ids, as Kafka does from 2.8 on: " +
			"of a topic that is deleted, made anew and filled within seconds, the beginning may not be read")
	case known && len(ids) < len(s.opts.Topics):
		return nil, fmt.Errorf("asking for the ids of %v: %w", s.opts.Topics, kafkago.UnknownTopicOrPartition)
	}
	s.memory.learn(ids)
	g.trail.begin(ids)
	stored, err := s.client.positions(ctx, s.opts.Group, g.Assigned(), true)
	if err != nil {
		return nil, err
	}
	offsets, anew := make(Offsets, len(stored)), make(Offsets)
	stamps := make(map[TopicPartition]commitMark, len(stored))
	for at, p := range stored {
		offsets[at], stamps[at] = p.offset, p.mark
		if !s.memory.stale(at, p.mark.Topic, ids[at.Topic]) {
			continue
		}
		if anew[at], err = s.client.boundary(ctx, at, kafkago.FirstOffset); err != nil {
			return nil, err
		}
		g.report(at, p.offset, anew[at])
		offsets[at], stamps[at] = anew[at], noMark
	}
	if len(anew) > 0 { // before anything else, so that nobody begins anew once more
		if err := g.Commit(ctx, anew); err != nil {
			return nil, err
		}
	}
	if err := g.begin(ctx, offsets); err != nil {
		return nil, err
	}
	places := make(map[TopicPartition]place, len(offsets))
	for at, offset := range offsets {
		places[at] = place{offset: offset, mark: stamps[at]}
	}
	return places, nil
}

// stale reports whether the group's offset of a partition belongs to a topic that was deleted since. stored is the
// topic id beside the offset; zero: not known.
func (m *memory) stale(at TopicPartition, stored, now topicID) bool {
	if now == (topicID{}) {
		return false
	}
	if stored != (topicID{}) {
		return stored != now
	}
	return m.remade[at.Topic]
}

// report tells that a partition is read from the beginning of a new topic.
func (g *Generation) report(at TopicPartition, offset, to int64) {
	s := g.source
	var records int64
	if last := s.memory.last[at]; last != nil {
		from := last.next
		if offset >= 0 {
			from = min(from, offset)
		}
		records = max(0, last.high-from)
	}
	s.with.Logger.Warn("records are gone: reading goes on elsewhere", "reason", LostRecreated,
		"topic", at.Topic, "partition", at.Partition, "from", offset, "to", to, "records", records)
	if s.with.Observer != nil {
		s.with.Observer.Lost(LostRecreated, records)
	}
}
