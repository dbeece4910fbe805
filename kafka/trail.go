package kafka

import (
	"slices"
	"sync"

	"rivulet/kafka/wire"
)

// trail collects topic ids and leader epochs from the cursors of a generation, for the marks of its commits. Several
// goroutines use it; nil knows nothing.
type trail struct {
	mu     sync.Mutex
	ids    map[string]topicID
	epochs map[TopicPartition]wire.Epochs
	// resumes are by ascending Next; those of committed offsets are dropped.
	resumes map[TopicPartition][]Resume
	marked  map[TopicPartition]lastMark
}

// lastMark has the next offset of the mark that was committed last, and the second offset of its [Resume]; 0: there is
// none. Records before them are answered.
type lastMark struct{ next, aside int64 }

// Resume stores where reading goes on after an offset, or after any later one up to the next call's. A commit of such
// an offset then stores From, and the others beside it, for [Cursor.Resume] of the partition's next reader.
func (g *Generation) Resume(at TopicPartition, r Resume) {
	t := g.trail
	t.mu.Lock()
	defer t.mu.Unlock()
	same := slices.DeleteFunc(t.resumes[at], func(o Resume) bool { return o.Next >= r.Next })
	t.resumes[at] = append(same, r)
}

// begin forgets everything but the ids of the topics that are read from now on.
func (t *trail) begin(ids map[string]topicID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids, t.epochs = ids, make(map[TopicPartition]wire.Epochs)
	t.resumes, t.marked = make(map[TopicPartition][]Resume), make(map[TopicPartition]lastMark)
}

// id returns the id of a topic that is read; zero: it is not known.
func (t *trail) id(topic string) topicID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids[topic]
}

// left reports whether topics that are read have other ids now.
func (t *trail) left(now map[string]topicView) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, id := range t.ids {
		if v := now[topic]; v.id != (topicID{}) && v.id != id {
			return true
		}
	}
	return false
}

// note says that the records of a partition from an offset on are of an epoch.
func (t *trail) note(at TopicPartition, first int64, epoch int32) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epochs[at] = t.epochs[at].Add(first, epoch)
}

// Marked returns the last offset of a partition that is committed, or on its way to be; 0: there is none.
func (g *Generation) Marked(at TopicPartition) int64 { return g.trail.last(at).next }

func (t *trail) last(at TopicPartition) lastMark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marked[at]
}

// mark returns the offset to commit for going on at an offset of a partition, and the mark to commit beside it.
func (t *trail) mark(at TopicPartition, next int64) (from int64, m commitMark) {
	if t == nil {
		return next, noMark
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m = noMark
	from = next
	k := len(t.resumes[at])
	for k > 0 && t.resumes[at][k-1].Next > next {
		k--
	}
	if k > 0 {
		t.resumes[at] = t.resumes[at][k-1:]
		if r := t.resumes[at][0]; r.From < next || r.Aside != next || r.Note != "" {
			from, m.Resume = min(r.From, next), Resume{Next: next, Aside: r.Aside, Note: r.Note}
			m.Ahead = t.epochs[at].Of(max(next, r.Aside))
		}
	}
	if t.marked != nil {
		t.marked[at] = lastMark{next, m.Resume.Aside}
	}
	m.Topic, m.Epoch = t.ids[at.Topic], t.epochs[at].Of(from)
	return from, m
}
