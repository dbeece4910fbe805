package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kadm"

	"rivulet/test/chaos/ledger"
	"rivulet/test/harness"
)

// stays tells streams whose predictions are the same when records are read again. With growth they are not, as there
// are no notes of records whose offsets were committed.
func stays(k kind) bool { return !k.growth }

// expires tells those of them that no refresh reads.
func expires(k kind) bool { return !k.growth && !k.merged }

// withoutConsumers does something to each of some streams while nothing is sent and its consumers are down, when all
// that was sent is answered. What is read again must be answered again.
func (r *run) withoutConsumers(ctx context.Context, of func(kind) bool, do func(*stream) error) error {
	for _, s := range r.streams {
		if !of(s.kind) {
			continue
		}
		err := r.withoutConsumersOf(ctx, s, do)
		if err == nil {
			err = r.eventually(ctx, s, "what is read again is answered again", s.ledger.AllReadAgain)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) withoutConsumersOf(ctx context.Context, s *stream, do func(*stream) error) error {
	goOn, err := s.pause(ctx)
	defer goOn()
	if err == nil {
		err = harness.Await(ctx, patience, s.name+": all is answered", func() bool {
			return s.broken.Load() || s.ledger.AllRead() && s.ledger.Answered(ledger.Window(s.window.Load()), true)
		})
	}
	for which := range 2 {
		err = errors.Join(err, s.members[which].Drain(patience))
	}
	if err == nil {
		err = do(s)
	}
	return errors.Join(err, s.members[0].Start(), s.members[1].Start())
}

// offsetsReset sets the offsets of groups back, as an operator does.
func offsetsReset(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.withoutConsumers(ctx, stays, func(s *stream) error {
		offsets, err := s.world.Ends(ctx, s.topic("arrivals"), func() int64 { return rng.Int64N(100) })
		if err == nil {
			err = s.world.Kafka.CommitAllOffsets(ctx, s.name, offsets)
		}
		if err != nil {
			return fmt.Errorf("resetting the offsets of %s: %w", s.name, err)
		}
		offsets.Each(func(o kadm.Offset) { s.ledger.ReadAgain(s.life(), int(o.Partition), o.At) })
		return nil
	})
}

// groupDeleted deletes groups, so that their offsets are gone as after offsets.retention.minutes, and records that
// retention has deleted meanwhile. The consumers begin at the earliest record that is left.
func groupDeleted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.deleteGroups(ctx, func(s *stream) error {
		kept, err := s.world.Ends(ctx, s.topic("arrivals"), func() int64 { return rng.Int64N(100) })
		if err == nil {
			_, err = s.world.DeleteRecords(ctx, patience, kept)
		}
		if err == nil {
			kept.Each(func(o kadm.Offset) {
				s.ledger.Removed(s.life(), int(o.Partition), o.At)
				s.ledger.ReadAgain(s.life(), int(o.Partition), o.At)
			})
		}
		return err
	})
}

// startAtLatest deletes groups whose consumers then begin at the ends of their partitions: what was sent before that is
// left out.
func startAtLatest(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	return 0, r.deleteGroups(ctx, func(s *stream) error {
		for range 60 {
			s.sendNext(ctx)
		}
		last, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err := s.sender.Flush(last)
		if err == nil {
			err = harness.Await(ctx, patience, s.name+": all arrivals are read", s.ledger.AllRead)
		}
		ends, failed := s.world.Ends(ctx, s.topic("arrivals"), func() int64 { return 0 })
		left := 0
		ends.Each(func(o kadm.Offset) { left += s.ledger.LeftOut(s.life(), int(o.Partition), o.At) })
		err = errors.Join(err, failed, r.took(left > 0, "%s: there is nothing to be left out", s.name))
		for which := range 2 {
			err = errors.Join(err, s.startOffset(which, "latest"), s.members[which].Start())
		}
		if err != nil {
			return err
		}
		err = harness.Await(ctx, patience, s.name+" has offsets", func() bool {
			offsets, err := s.world.Kafka.FetchOffsets(ctx, s.name)
			return s.broken.Load() || err == nil && len(offsets[s.topic("arrivals")]) >= partitions
		})
		return errors.Join(err, s.startOffset(0, "earliest"), s.startOffset(1, "earliest"))
	})
}

// deleteGroups deletes the groups of streams that do not grow and that no refresh reads.
func (r *run) deleteGroups(ctx context.Context, and func(*stream) error) error {
	return r.withoutConsumers(ctx, expires, func(s *stream) error {
		answer, err := s.world.Kafka.DeleteGroup(ctx, s.name)
		if err = errors.Join(err, answer.Err); err != nil {
			return fmt.Errorf("deleting group %s: %w", s.name, err)
		}
		return and(s)
	})
}
