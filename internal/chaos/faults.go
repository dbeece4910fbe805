package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"rivulet/internal/harness"
)

// fault breaks something and repairs it. It returns the number of blows: how often batches in flight may have been
// answered without being committed.
type fault struct {
	name  string
	redis bool // it is about Redis, so that redis.outage tells its effect
	deal  func(ctx context.Context, r *run, rng *rand.Rand) (blows int, err error)
}

// between draws a time, to the millisecond.
func between(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64((to-from)/time.Millisecond)+1))*time.Millisecond
}

// faults lists all faults in the order of the table.
var faults = []fault{
	{"consumer killed (SIGKILL) and started again", false, killOne},
	{"all consumers killed, started seconds later", false, killAll},
	{"consumer stopped beyond its session (SIGSTOP), then on", false, zombie},
	{"consumers join and leave", false, rebalance},
	{"broker killed (SIGKILL) and started", false, broker("kill")},
	{"broker restarted in order", false, broker("stop")},
	{"consumer cut off from Kafka", false, cutKafka},
	{"consumer cut off from Redis", true, cutRedis},
	{"Redis restarted, with its data", true, redisRestarted},
	{"Redis hung (SIGSTOP)", true, redisHung},
	{"Redis flushed, later published again", true, redisFlushed},
	{"current version deleted, later another published", true, versionDeleted},
	{"artifacts swapped, publisher killed half-way", false, swap},
	{"poison: half of the records", false, poisoned},
}

// several deals some faults at once.
var several = fault{"three of these at once", false, func(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	type dealt struct {
		blows int
		err   error
	}
	var wait sync.WaitGroup
	results := make([]dealt, 3)
	for i, which := range rng.Perm(len(faults))[:len(results)] {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		r.world.say("  at once: %s", faults[which].name)
		wait.Go(func() { results[i].blows, results[i].err = faults[which].deal(ctx, r, own) })
	}
	wait.Wait()
	blows, err := 0, error(nil)
	for _, d := range results {
		blows, err = blows+d.blows, errors.Join(err, d.err)
	}
	return blows, err
}}

// each does something to one member of every stream.
func (r *run) each(which int, do func(*member) error) error {
	var err error
	for _, s := range r.streams {
		err = errors.Join(err, do(s.members[which]))
	}
	return err
}

func killOne(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	const times = 2
	for range times {
		err := r.each(rng.IntN(2), func(m *member) error {
			m.kill()
			return m.start()
		})
		if err := errors.Join(err, harness.Sleep(ctx, between(rng, 500*time.Millisecond, 3*time.Second))); err != nil {
			return 0, err
		}
	}
	return times, nil
}

func killAll(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	for which := range 2 {
		_ = r.each(which, func(m *member) error { m.kill(); return nil })
	}
	err := harness.Sleep(ctx, between(rng, time.Second, 3*time.Second))
	for which := range 2 {
		err = errors.Join(err, r.each(which, (*member).start))
	}
	return 1, err
}

func zombie(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	which := rng.IntN(2)
	err := r.each(which, func(m *member) error { return m.signal(syscall.SIGSTOP) })
	err = errors.Join(err, harness.Sleep(ctx, sessionTimeout+between(rng, time.Second, 4*time.Second)))
	return 1, errors.Join(err, r.each(which, func(m *member) error { return m.signal(syscall.SIGCONT) }))
}

// rebalance lets a guest come, one of the others leave and return, and the guest leave.
func rebalance(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	const guest = members - 1
	pause := func() error { return harness.Sleep(ctx, between(rng, time.Second, 3*time.Second)) }
	drain := func(m *member) error { return m.drain(patience) }
	other := rng.IntN(2)
	for _, step := range []func() error{
		func() error { return r.each(guest, (*member).start) }, pause,
		func() error { return r.each(other, drain) }, pause,
		func() error { return r.each(other, (*member).start) }, pause,
		func() error { return r.each(guest, drain) },
	} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return 4, nil
}

func broker(how string) func(context.Context, *run, *rand.Rand) (int, error) {
	return func(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
		r.brokers.Lock()
		defer r.brokers.Unlock()
		if err := r.world.broker.Do(ctx, how); err != nil {
			return 0, err
		}
		if err := harness.Sleep(ctx, between(rng, 0, 2*time.Second)); err != nil {
			return 0, err
		}
		return 1, r.world.broker.Do(ctx, "start")
	}
}

// cut closes a proxy for a while: connections are refused, or no bytes pass.
func cut(ctx context.Context, p *harness.Proxy, rng *rand.Rand) error {
	defer p.Set(harness.Passing)
	p.Set([]harness.State{harness.Refused, harness.Silent}[rng.IntN(2)])
	return harness.Sleep(ctx, between(rng, 2*time.Second, sessionTimeout+3*time.Second))
}

func cutKafka(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 1, cut(ctx, r.world.kafkaWays[rng.IntN(2)], rng)
}

func cutRedis(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 0, cut(ctx, r.world.redisWays[rng.IntN(2)], rng)
}

func redisRestarted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	defer r.redises.Unlock()
	if err := r.world.redis.Stop(ctx); err != nil {
		return 0, err
	}
	err := harness.Sleep(ctx, between(rng, time.Second, 5*time.Second))
	return 0, errors.Join(err, r.world.redis.Start())
}

func redisHung(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	defer r.redises.Unlock()
	err := r.world.redis.Hang()
	err = errors.Join(err, harness.Sleep(ctx, between(rng, 2*time.Second, 8*time.Second)))
	return 0, errors.Join(err, r.world.redis.GoOn())
}

func redisFlushed(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	r.redises.Lock()
	err := r.world.store.FlushAll(ctx).Err()
	r.redises.Unlock()
	err = errors.Join(err, harness.Sleep(ctx, between(rng, time.Second, 4*time.Second)))
	return 0, errors.Join(err, r.world.publish(ctx, rng.IntN(len(r.world.artifacts))))
}

func versionDeleted(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	current, err := w.store.Get(ctx, "{"+prefix+"}:current").Result()
	next := rng.IntN(len(w.artifacts))
	if err == nil {
		r.redises.Lock()
		err = w.erase(ctx, current)
		r.redises.Unlock()
	}
	switch {
	case err == nil:
		if w.artifacts[next].version == current {
			next = (next + 1) % len(w.artifacts)
		}
	case r.calm: // else Redis may be down or empty
		return 0, fmt.Errorf("deleting the current version: %w", err)
	}
	if err := harness.Sleep(ctx, between(rng, time.Second, 4*time.Second)); err != nil {
		return 0, err
	}
	return 0, w.publish(ctx, next)
}

// swap moves CURRENT back and forth. Some publishers are killed after a moment, and another one continues.
func swap(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	w := r.world
	for i := range 6 {
		which := i % len(w.artifacts)
		var err error
		switch rng.IntN(3) {
		case 0:
			err = w.activate(ctx, which)
		case 1:
			// Without its marker it is written anew, row by row.
			r.redises.Lock()
			_ = w.erase(ctx, w.artifacts[which].version)
			r.redises.Unlock()
			if err = w.publishOnce(ctx, which, between(rng, 10*time.Millisecond, 400*time.Millisecond)); err == nil {
				err = harness.Sleep(ctx, between(rng, 0, 500*time.Millisecond))
			}
			err = errors.Join(err, w.publish(ctx, which))
		default:
			err = w.publish(ctx, which)
		}
		if err := errors.Join(err, harness.Sleep(ctx, between(rng, 0, time.Second))); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func poisoned(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	for _, s := range r.streams {
		s.poison.Store(50)
		defer s.poison.Store(quietPoison) //nolint:revive // all of them, when the window ends
	}
	return 0, harness.Sleep(ctx, between(rng, 3*time.Second, 6*time.Second))
}

// quietPoison is how many of a hundred arrivals are poisoned at other times.
const quietPoison = 1
