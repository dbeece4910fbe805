package kafka

import (
	"maps"
	"sync"
)

// trail collects topic ids and leader epochs from the cursors of a generation, for the marks of its commits. Several
// goroutines use it; nil knows nothing.
type trail struct {
	mu     sync.Mutex
	ids    map[string]topicID
	epochs map[TopicPartition]epochs
}

// begin forgets everything but the ids of the topics that are read from now on.
func (t *trail) begin(ids map[string]topicID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids, t.epochs = ids, make(map[TopicPartition]epochs)
}

// id returns the id of a topic that is read; zero: it is not known.
func (t *trail) id(topic string) topicID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids[topic]
}

// left reports whether topics that are read have other ids now.
func (t *trail) left(now map[string]topicID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ids) > 0 && !maps.Equal(t.ids, now)
}

// note says that the records of a partition from an offset on are of an epoch.
func (t *trail) note(at TopicPartition, first int64, epoch int32) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epochs[at] = t.epochs[at].add(first, epoch)
}

// mark returns the mark to commit beside the next offset of a partition.
func (t *trail) mark(at TopicPartition, next int64) mark {
	if t == nil {
		return mark{epoch: -1}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return mark{topic: t.ids[at.Topic], epoch: t.epochs[at].of(next)}
}
