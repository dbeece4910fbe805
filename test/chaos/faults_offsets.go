package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kadm"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/stream"
	"rivulet/test/harness"
)

// withoutConsumers does something to each of some streams while nothing is sent and its consumers are down, when all
// that was sent is answered. What is read again must be answered again.
func (r *run) withoutConsumers(ctx context.Context, of func(stream.Kind) bool, do func(*stream.Stream) error) error {
	for _, s := range r.streams {
		if !of(s.Kind) {
			continue
		}
		err := r.withoutConsumersOf(ctx, s, do)
		if err == nil {
			err = r.eventually(ctx, s, "what is read again is answered again", s.Ledger.AllReadAgain)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) withoutConsumersOf(ctx context.Context, s *stream.Stream, do func(*stream.Stream) error) error {
	goOn, err := s.Pause(ctx)
	defer goOn()
	if err == nil {
		err = harness.Await(ctx, patience, s.Name+": all is answered", func() bool {
			return s.Broken.Load() || s.Ledger.AllRead() && s.Ledger.Answered(ledger.Window(s.Window.Load()), true)
		})
	}
	for which := range 2 {
		err = errors.Join(err, s.Members[which].Drain(patience))
	}
	if err == nil {
		err = do(s)
	}
	return errors.Join(err, s.Members[0].Start(), s.Members[1].Start())
}

// offsetsReset sets the offsets of groups back, as an operator does.
func offsetsReset(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.withoutConsumers(ctx, all, func(s *stream.Stream) error {
		offsets, err := r.world.Ends(ctx, s.Topic("arrivals"), func() int64 { return rng.Int64N(100) })
		if err == nil {
			err = r.world.Kafka.CommitAllOffsets(ctx, s.Name, offsets)
		}
		if err != nil {
			return fmt.Errorf("resetting the offsets of %s: %w", s.Name, err)
		}
		offsets.Each(func(o kadm.Offset) {
			s.Ledger.ReadAgain(s.Life(), int(o.Partition), o.At)
		})
		return nil
	})
}

// groupDeleted deletes groups, so that their offsets are gone as after offsets.retention.minutes, and records that
// retention has deleted meanwhile. The consumers begin at the earliest record that is left.
func groupDeleted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, r.deleteGroups(ctx, func(s *stream.Stream) error {
		kept, err := r.world.Ends(ctx, s.Topic("arrivals"), func() int64 { return rng.Int64N(100) })
		if err == nil {
			_, err = r.world.DeleteRecords(ctx, patience, kept)
		}
		if err == nil {
			kept.Each(func(o kadm.Offset) {
				s.Ledger.Removed(s.Life(), int(o.Partition), o.At)
				s.Ledger.ReadAgain(s.Life(), int(o.Partition), o.At)
			})
		}
		return err
	})
}

// startAtLatest deletes groups whose consumers then begin at the ends of their partitions: what was sent before that is
// left out.
func startAtLatest(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	return 0, r.deleteGroups(ctx, func(s *stream.Stream) error {
		for range 60 {
			s.SendNext(ctx)
		}
		err := s.Flush(ctx)
		if err == nil {
			err = harness.Await(ctx, patience, s.Name+": all arrivals are read", s.Ledger.AllRead)
		}
		ends, failed := r.world.Ends(ctx, s.Topic("arrivals"), func() int64 { return 0 })
		left := 0
		ends.Each(func(o kadm.Offset) {
			left += s.Ledger.LeftOut(s.Life(), int(o.Partition), o.At)
		})
		err = errors.Join(err, failed, r.took(left > 0, "%s: there is nothing to be left out", s.Name))
		for which := range 2 {
			err = errors.Join(err, s.StartOffset(which, "latest"), s.Members[which].Start())
		}
		if err != nil {
			return err
		}
		err = harness.Await(ctx, patience, s.Name+" has offsets", func() bool {
			offsets, err := r.world.Kafka.FetchOffsets(ctx, s.Name)
			return s.Broken.Load() || err == nil && len(offsets[s.Topic("arrivals")]) >= stream.Partitions
		})
		return errors.Join(err, s.StartOffset(0, "earliest"), s.StartOffset(1, "earliest"))
	})
}

// deleteGroups deletes the groups of streams that no refresh reads.
func (r *run) deleteGroups(ctx context.Context, and func(*stream.Stream) error) error {
	return r.withoutConsumers(ctx, others, func(s *stream.Stream) error {
		answer, err := r.world.Kafka.DeleteGroup(ctx, s.Name)
		if err = errors.Join(err, answer.Err); err != nil {
			return fmt.Errorf("deleting group %s: %w", s.Name, err)
		}
		return and(s)
	})
}
