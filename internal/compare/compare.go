// Package compare joins the predictions that two versions have published of the same arrivals, each on a topic of its
// own, and says which of the two is right more often.
//
// A prediction names the record that it answers by topic, partition and offset: the predictions of one record are a
// pair. Both topics are read at once, and the one that is ahead waits for the other, so that memory holds only
// predictions whose counterpart is still to come, up to a bound.
package compare

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"rivulet/event"
	"rivulet/internal/stats"
)

// ErrTask means that predictions are not of classes.
var ErrTask = errors.New("the predictions have no class: labels, numbers and links are not compared")

// bins is the number of bins of the expected calibration error, as many as the trainer's.
const bins = 15

// Join pairs the predictions of two topics. Add may be called for both topics at once.
type Join struct {
	remember int
	labels   *Labels

	mu    sync.Mutex
	moved *sync.Cond // a topic has gone on, or has ended
	sides [2]side
	names map[string]string // one text for each class and topic
	found Result
}

// side is one topic.
type side struct {
	waiting map[event.Source]answer
	order   []event.Source      // of waiting, the oldest first; some have been paired
	reached map[partition]int64 // the offset behind the last one that was answered, of each partition of arrivals
	last    event.Source        // the record of the newest prediction
	taken   int
	ended   bool
	bins    [bins]struct{ labels, right, confidence float64 }
}

// partition is a partition of arrivals.
type partition struct {
	topic  string
	number int
}

// answer is the part of a prediction that is compared.
type answer struct {
	class       int
	name        string
	probability float32
	id          uint64 // hash of the arrival's id
}

// Result has the figures of a comparison; 0 is the first topic, 1 the second.
type Result struct {
	Versions    [2]map[string]int // predictions by the version that made them
	Predictions [2]int
	Alone       [2]int // predictions without a counterpart
	Pairs       int    // records that both topics answer
	Same        int    // pairs whose two predictions have the same class
	Confidence  [2]float64
	Labels      int    // pairs whose label is known
	Right       [2]int // of these
	Only        [2]int // of these, right where the other one is wrong
	Calibration [2]float64
}

// P is the p value of McNemar's test of the pairs that one alone has right.
func (r *Result) P() float64 { return stats.McNemar(r.Only[0], r.Only[1]) }

// New returns a join that has up to remember predictions of each topic in memory. labels may be nil.
func New(remember int, labels *Labels) *Join {
	j := &Join{remember: remember, labels: labels, names: map[string]string{}}
	j.moved = sync.NewCond(&j.mu)
	for k := range j.sides {
		j.sides[k].waiting, j.sides[k].reached = map[event.Source]answer{}, map[partition]int64{}
		j.found.Versions[k] = map[string]int{}
	}
	return j
}

// Add takes a prediction of topic k, 0 or 1. If its predictions fill half of the memory, it waits while the topic is
// ahead of the other: while that has not come as far in the partition of arrivals.
func (j *Join) Add(ctx context.Context, k int, p *event.Prediction) error {
	if len(p.Numbers) > 0 || p.Labels != nil || p.Links != nil {
		return ErrTask
	}
	defer context.AfterFunc(ctx, j.moved.Broadcast)()
	j.mu.Lock()
	defer j.mu.Unlock()
	own, other := &j.sides[k], &j.sides[1-k]
	own.last = p.Source
	own.last.Topic = j.name(p.Source.Topic)
	for !other.ended && len(own.waiting) >= j.remember/2 && own.isAheadOf(other) && !other.isAheadOf(own) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		j.moved.Wait()
	}
	own.taken++
	j.found.Versions[k][j.name(p.Artifact)]++
	a := answer{p.Class, j.name(p.ClassName), p.Probability, xxhash.Sum64String(p.ID)}
	at := own.last
	if in := (partition{at.Topic, at.Partition}); at.Offset >= own.reached[in] {
		own.reached[in] = at.Offset + 1
	}
	if b, there := other.waiting[at]; there {
		delete(other.waiting, at)
		pair := [2]answer{a, b}
		if k == 1 {
			pair = [2]answer{b, a}
		}
		j.pair(&pair)
	} else {
		own.wait(at, a, j.remember)
	}
	j.moved.Broadcast()
	return nil
}

// isAheadOf reports whether the other topic has not come as far as s in the partition of its newest prediction.
func (s *side) isAheadOf(other *side) bool {
	return s.taken > 0 && s.last.Offset >= other.reached[partition{s.last.Topic, s.last.Partition}]
}

// wait remembers a prediction, and forgets the oldest ones beyond the bound.
func (s *side) wait(at event.Source, a answer, most int) {
	s.waiting[at] = a
	if s.order = append(s.order, at); len(s.order) >= 2*most { // most of them have met their counterpart
		left := make([]event.Source, 0, len(s.waiting))
		for _, at := range s.order {
			if _, waits := s.waiting[at]; waits {
				left = append(left, at)
			}
		}
		s.order = left
	}
	for len(s.waiting) > most {
		delete(s.waiting, s.order[0])
		s.order = s.order[1:]
	}
}

// name returns the one text of a name.
func (j *Join) name(text string) string {
	one, there := j.names[text]
	if !there {
		one = strings.Clone(text)
		j.names[one] = one
	}
	return one
}

// pair compares two predictions of one record.
func (j *Join) pair(of *[2]answer) {
	f := &j.found
	f.Pairs++
	if of[0].class == of[1].class && of[0].name == of[1].name {
		f.Same++
	}
	label, known := j.labels.of(of[0].id)
	var right [2]bool
	for k, a := range of {
		f.Confidence[k] += float64(a.probability)
		if !known {
			continue
		}
		bin := &j.sides[k].bins[min(bins-1, int(a.probability*bins))]
		bin.labels++
		bin.confidence += float64(a.probability)
		if right[k] = label.is(&a); right[k] {
			f.Right[k]++
			bin.right++
		}
	}
	if !known {
		return
	}
	f.Labels++
	for k := range right {
		if right[k] && !right[1-k] {
			f.Only[k]++
		}
	}
}

// End says that topic k has no more predictions.
func (j *Join) End(k int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sides[k].ended = true
	j.moved.Broadcast()
}

// Result returns the figures, once both topics have ended.
func (j *Join) Result() Result {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.found
	for k := range j.sides {
		s := &j.sides[k]
		r.Predictions[k], r.Alone[k] = s.taken, s.taken-r.Pairs
		r.Confidence[k] /= float64(max(1, r.Pairs))
		for _, b := range s.bins {
			r.Calibration[k] += math.Abs(b.right-b.confidence) / float64(max(1, r.Labels))
		}
	}
	return r
}
