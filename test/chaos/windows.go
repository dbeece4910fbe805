package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// strikeLimit is the time that a consumer may take to come to the moment of its kill.
const strikeLimit = 2 * time.Minute

// killAt kills a consumer of every stream at a moment in the delivery of a full batch, and then the other one.
func killAt(m world.Moment) func(context.Context, *run, *rand.Rand) (int, error) {
	return func(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
		first := rng.IntN(2)
		for i := range 2 {
			if err := r.atOnce(func(s *stream.Stream) error { return r.strike(ctx, s, (first+i)%2, m) }); err != nil {
				return 0, err
			}
		}
		return 2, nil
	}
}

// atOnce does something to all streams at the same time.
func (r *run) atOnce(do func(*stream.Stream) error) error {
	var wait sync.WaitGroup
	failed := make([]error, len(r.streams))
	for i, s := range r.streams {
		wait.Go(func() { failed[i] = do(s) })
	}
	wait.Wait()
	return errors.Join(failed...)
}

// strike kills a member at a moment, lets the group know at once, and starts it again.
func (r *run) strike(ctx context.Context, s *stream.Stream, which int, m world.Moment) error {
	if err := r.awaitMember(ctx, s, which, true); err != nil {
		return err
	}
	set := r.arm(s, which, m)
	defer r.world.Traps.Disarm(set)
	s.Burst(ctx, 6*stream.BatchSize)
	if err := r.sprung(ctx, s, set); err != nil {
		return fmt.Errorf("%s, consumer %d, to be killed %v: %w", s.Name, which, m, err)
	}
	if err := r.world.Kafka.Bury(ctx, s.Name, s.Client(which)); err != nil && r.calm {
		return fmt.Errorf("taking the consumer that was killed out of its group: %w", err)
	}
	return errors.Join(s.Members[which].Start(), r.awaitMember(ctx, s, which, true))
}

// arm sets a trap for a world.
func (r *run) arm(s *stream.Stream, which int, at world.Moment) *world.Trap {
	return r.world.Traps.Arm(world.Prey{Client: s.Client(which), At: at, Worth: stream.BatchSize / 4,
		Kill: func() { s.Members[which].Kill() }})
}

// sprung waits for a world.
func (r *run) sprung(ctx context.Context, s *stream.Stream, set *world.Trap) error {
	limit := time.NewTimer(strikeLimit)
	defer limit.Stop()
	for {
		select {
		case <-set.Sprung:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return r.took(false, "the moment has not come for %v", strikeLimit)
		case <-time.After(100 * time.Millisecond):
			if s.Broken.Load() {
				return errBroken
			}
		}
	}
}

// awaitMember waits until a member is in its group, or is not.
func (r *run) awaitMember(ctx context.Context, s *stream.Stream, which int, there bool) error {
	limit := patience
	if !r.calm {
		limit = 20 * time.Second // another fault may keep it out
	}
	err := harness.Await(ctx, limit, fmt.Sprintf("%s is in its group: %t", s.Client(which), there), func() bool {
		members, err := r.world.Kafka.Members(ctx, s.Name)
		is := false
		for _, client := range members {
			is = is || client == s.Client(which)
		}
		return err == nil && is == there || s.Broken.Load()
	})
	if err != nil && !r.calm && ctx.Err() == nil {
		return nil
	}
	return err
}

// termInJoin lets a guest come to each group and sends it SIGTERM while it joins.
func termInJoin(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	const guest = world.Members - 1
	return 2, r.atOnce(func(s *stream.Stream) error {
		set := r.arm(s, guest, world.InJoin)
		defer r.world.Traps.Disarm(set)
		if err := s.Members[guest].Start(); err != nil {
			return err
		}
		err := r.sprung(ctx, s, set)
		return errors.Join(err, s.Members[guest].Drain(patience))
	})
}
