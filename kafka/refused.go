package kafka

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/produce"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Refusal is a record that was not published, for its content: it is larger than its topic takes, or a broker did
// not take it for another reason. The records beside it were published.
type Refusal struct {
	// Place is the record's place among the published records, from 0.
	Place int
	// Err says why. [retry.Judge] calls it Content.
	Err error
	// Replaced says that something else was published in its place.
	Replaced bool
}

// Reasons of refusals, for metrics.
const (
	RefusedTooLarge = "too_large"
	RefusedRecord   = "invalid_record"
)

// Reason is one of the constants above.
func (r *Refusal) Reason() string {
	if errors.Is(r.Err, kafkago.InvalidRecord) {
		return RefusedRecord
	}
	return RefusedTooLarge
}

// rejection is a broker's answer that refuses a record batch for its content.
type rejection struct {
	code     kafkago.Error
	message  string
	numbers  []int32 // records of the batch that the answer names
	messages []string
}

func newRejection(r *produce.ResponsePartition) *rejection {
	out := &rejection{code: kafkago.Error(r.ErrorCode), message: r.ErrorMessage}
	for _, e := range r.RecordErrors {
		out.numbers = append(out.numbers, e.BatchIndex)
		out.messages = append(out.messages, e.BatchIndexErrorMessage)
	}
	return out
}

// err is the reason for which the record of a number is refused.
func (r *rejection) err(at TopicPartition, number int32, size int) error {
	text := r.message
	if k := slices.Index(r.numbers, number); k >= 0 && r.messages[k] != "" {
		text = r.messages[k]
	}
	if text = strings.TrimSpace(text); text == "" {
		text = "the broker does not say more"
	}
	return fmt.Errorf("publishing to %s: partition %d, in a batch of %d bytes: %w (%s)", at.Topic,
		at.Partition, size, r.code, text)
}

// amend changes a batch that a broker refused for its content, or leaves records out of it. That ends: each time the
// batch has fewer records.
//
// In a transaction the sequence numbers go on unchanged, as the broker has taken nothing of the batch. If an earlier
// attempt had no answer, it may still arrive: then the transaction is given up, and everything begins again under
// another epoch.
func (s *Sink) amend(sh *Shipment, l *load, r *rejection) error {
	b := *l.current()
	var parts []wire.Batch
	switch r.code {
	case kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge:
		s.learnLimit(l.at.Topic, b.Bytes()/2)
		if b.Count() > 1 {
			parts = b.Split(b.Bytes() / 2)
		} else {
			l.leaveOut(r, 0)
		}
	default:
		parts = l.sift(r)
	}
	l.batches = slices.Replace(l.batches, l.written, l.written+1, parts...)
	l.wire = nil
	if l.unsure && sh.within != nil {
		return fmt.Errorf("%w: a batch was refused that an earlier attempt without an answer may have written: %w",
			retry.ErrGeneration, r.err(l.at, 0, b.Bytes()))
	}
	return nil
}

// sift leaves out the records that a refusal names. Where it names none the batch is halved until one is left.
func (l *load) sift(r *rejection) []wire.Batch {
	b := l.current()
	named := slices.DeleteFunc(slices.Clone(r.numbers), func(k int32) bool { return k < 0 || k >= b.Count() })
	switch {
	case len(named) == 0 && b.Count() > 1:
		return b.Split(b.Bytes() / 2)
	case len(named) == 0:
		named = []int32{0}
	}
	l.leaveOut(r, named...)
	return b.Without(named)
}

// leaveOut notes records of the current batch that are not published.
func (l *load) leaveOut(r *rejection, numbers ...int32) {
	b := l.current()
	for _, k := range numbers {
		l.refused = append(l.refused, Refusal{Place: b.Place(k), Err: r.err(l.at, k, b.Bytes())})
	}
}

// learnLimit notes that a topic refuses batches of twice this size. The true limit is somewhere below that: halving
// finds a size that is taken, more than half of the limit.
func (s *Sink) learnLimit(topic string, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.limits[topic]; !ok || limit < known {
		s.limits[topic] = limit
		s.log.Info("a topic refused a record batch for its size, batches for it are smaller from now on",
			"topic", topic,
			"refused_bytes", 2*limit, "filled_to_bytes", limit)
	}
}

// limit is the size to which batches for a topic are filled.
func (s *Sink) limit(topic string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit, known := s.limits[topic]; known {
		return min(limit, s.batchBytes)
	}
	return s.batchBytes
}
