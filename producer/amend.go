package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"rivulet/event"
	"rivulet/kafka"
)

// try is one form of a record of a batch: a prediction, a dead letter as it is, or a dead letter in a prediction's
// place.
type try struct {
	place      int               // in the batch: its predictions, then its dead letters
	prediction *event.Prediction // nil: it was a dead letter from the beginning
	answered   event.Record      // the record of the prediction's arrival
	letter     *event.DeadLetter // nil: it is still a prediction
	keyed      bool              // it gets a key if it has none
	small      bool              // of a dead letter: without headers, value and a long key
	why        error             // why the prediction was refused
	keyless    bool              // its record has no key
}

// encodedBatch is an encoded batch: with keys for records without one, or as they are.
type encodedBatch struct {
	event.Batch
	keyedPredictions, keyedLetters bool
}

// first is the form in which something of the batch is published at first.
func (b *encodedBatch) first(place int) try {
	n := len(b.Predictions)
	if place >= n {
		return try{place: place, letter: &b.DeadLetters[place-n], keyed: b.keyedLetters}
	}
	t := try{place: place, prediction: &b.Predictions[place], keyed: b.keyedPredictions}
	if place < len(b.Answered) {
		t.answered = b.Answered[place]
	}
	return t
}

// amend publishes refused records in other forms, until the brokers take each one or no form is left: such a record is
// dropped. The first shipment held the batch, in order.
//
//	a record without a key is refused    with a key, as the topic is compacted: the arrival's id, or its place
//	a prediction is refused              a dead letter in its place
//	a dead letter is refused             a small one (letter.go), which is also tried first where it is too large
//
// It returns the parts of the batch that are not on their topic, by their places in the batch.
func (p *Producer) amend(ctx context.Context, refused []kafka.Refusal, b *encodedBatch) ([]kafka.Refusal, error) {
	var missing []kafka.Refusal
	var tries []try // records of the last shipment; nil: the batch
	for len(refused) > 0 {
		s := p.opts.Sink.Shipment()
		var again []try
		for _, r := range refused {
			t, err := p.tried(s, b, tries, r.Place)
			if err != nil {
				return nil, err
			}
			if !p.change(&t, r.Err) {
				missing = append(missing, p.drop(&t, r.Err))
				continue
			}
			if err := p.pack(ctx, s, &t); err != nil {
				return nil, err
			}
			again = append(again, t)
		}
		var err error
		if refused, err = p.publish(ctx, s, nil); err != nil {
			return nil, err
		}
		missing = p.learn(missing, again, refused)
		tries = again
	}
	slices.SortFunc(missing, func(a, b kafka.Refusal) int { return cmp.Compare(a.Place, b.Place) })
	return missing, nil
}

// tried is the record at a place of the last shipment.
func (p *Producer) tried(s *kafka.Shipment, b *encodedBatch, tries []try, place int) (try, error) {
	if tries != nil {
		return tries[place], nil
	}
	t := b.first(place)
	_, _, err := p.record(s, &t)
	return t, err
}

// change gives a refused record another form. It reports whether there is one.
func (p *Producer) change(t *try, err error) bool {
	switch {
	case t.keyless && !t.keyed && errors.Is(err, kafka.InvalidRecord):
		t.keyed = true
	case t.letter == nil:
		t.letter, t.why = instead(t, err), err
		t.keyed = p.keyedLetters.Load()
	case t.small:
		return false
	default:
		t.small = true
	}
	return true
}

// instead is the dead letter that takes a prediction's place.
func instead(t *try, err error) *event.DeadLetter {
	pr := t.prediction
	return &event.DeadLetter{Key: pr.Key, Value: t.answered.Value, Headers: t.answered.Headers, Source: pr.Source,
		IngestTime: pr.IngestTime, Reason: event.ReasonPredictionRefused,
		Detail: fmt.Sprintf("the prediction of %.80q: %v", pr.ID, err)}
}

// drop gives up a record that no topic takes in any form.
func (p *Producer) drop(t *try, err error) kafka.Refusal {
	from := t.letter.Source
	p.opts.Logger.Error("a dead letter is dropped: its topic takes it in no form", "topic", from.Topic,
		"partition", from.Partition, "offset", from.Offset, "reason", t.letter.Reason, "error", err)
	return kafka.Refusal{Place: t.place, Err: err}
}

// learn notes which of the tries were published: topics that want keys, and dead letters in the place of predictions,
// which are then missing.
func (p *Producer) learn(missing []kafka.Refusal, tries []try, refused []kafka.Refusal) []kafka.Refusal {
	left := make(map[int]bool, len(refused))
	for _, r := range refused {
		left[r.Place] = true
	}
	for i := range tries {
		t := &tries[i]
		switch {
		case left[i]:
			continue
		case t.letter != nil && t.prediction != nil:
			missing = append(missing, kafka.Refusal{Place: t.place, Err: t.why, Replaced: true})
		}
		if t.keyed && t.letter == nil {
			p.keyedPredictions.Store(true)
		} else if t.keyed {
			p.keyedLetters.Store(true)
		}
	}
	return missing
}
