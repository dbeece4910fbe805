package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
	"rivulet/test/chaos/trap"
	"rivulet/test/harness"
)

// strikeLimit is how long a consumer may take to come to the moment of its kill.
const strikeLimit = 2 * time.Minute

// killAt kills a consumer of every stream at a moment in the delivery of a full batch, and then the other one.
func killAt(m ledger.Moment) func(context.Context, *run, *rand.Rand) (int, error) {
	return func(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
		first := rng.IntN(2)
		for i := range 2 {
			if err := r.atOnce(func(s *stream) error { return r.strike(ctx, s, (first+i)%2, m) }); err != nil {
				return 0, err
			}
		}
		return 2, nil
	}
}

// atOnce does something to all streams at the same time.
func (r *run) atOnce(do func(*stream) error) error {
	var wait sync.WaitGroup
	failed := make([]error, len(r.streams))
	for i, s := range r.streams {
		wait.Go(func() { failed[i] = do(s) })
	}
	wait.Wait()
	return errors.Join(failed...)
}

// strike kills a member at a moment, lets the group know at once, and starts it again.
func (r *run) strike(ctx context.Context, s *stream, which int, m ledger.Moment) error {
	if err := r.awaitMember(ctx, s, which, true); err != nil {
		return err
	}
	set := s.arm(which, m)
	defer r.world.traps.Disarm(set)
	s.burst(ctx, 6*batchSize)
	if err := r.sprung(ctx, s, set); err != nil {
		return fmt.Errorf("%s, consumer %d, to be killed at %v: %w", s.name, which, m, err)
	}
	if err := r.world.Kafka.Bury(ctx, s.name, s.client(which)); err != nil && r.calm {
		return fmt.Errorf("taking the consumer that was killed out of its group: %w", err)
	}
	return errors.Join(s.members[which].Start(), r.awaitMember(ctx, s, which, true))
}

// arm sets a trap for a member.
func (s *stream) arm(which int, at ledger.Moment) *trap.Trap {
	return s.world.traps.Arm(trap.Options{Client: s.client(which), At: at, Worth: batchSize / 4,
		Kill: func() { s.members[which].Kill() },
		Parse: func(h record.Headers, key, value []byte) (ledger.Place, ledger.Answer, error) {
			at, a, _, err := s.parseAnswer(h, key, value, time.Now())
			return at, a, err
		},
		Killed: s.ledger.Killed, Failed: func(err error) { s.failed <- err }})
}

// sprung waits for a trap.
func (r *run) sprung(ctx context.Context, s *stream, set *trap.Trap) error {
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
			if s.broken.Load() {
				return errBroken
			}
		}
	}
}

// awaitMember waits until a member is in its group, or is not.
func (r *run) awaitMember(ctx context.Context, s *stream, which int, there bool) error {
	limit := patience
	if !r.calm {
		limit = 20 * time.Second // another fault may keep it out
	}
	err := harness.Await(ctx, limit, fmt.Sprintf("%s is in its group: %t", s.client(which), there), func() bool {
		members, err := r.world.Kafka.Members(ctx, s.name)
		is := false
		for _, client := range members {
			is = is || client == s.client(which)
		}
		return err == nil && is == there || s.broken.Load()
	})
	if err != nil && !r.calm && ctx.Err() == nil {
		return nil
	}
	return err
}

// termInJoin lets a guest come to each group and sends it SIGTERM while it joins.
func termInJoin(ctx context.Context, r *run, _ *rand.Rand) (int, error) {
	const guest = members - 1
	return 2, r.atOnce(func(s *stream) error {
		set := s.arm(guest, trap.InJoin)
		defer r.world.traps.Disarm(set)
		if err := s.members[guest].Start(); err != nil {
			return err
		}
		err := r.sprung(ctx, s, set)
		return errors.Join(err, s.members[guest].Drain(patience))
	})
}
