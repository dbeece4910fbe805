package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"rivulet/test/chaos/record"
	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// fault breaks something, sees that it took effect, and repairs it. It returns the number of blows: how often
// batches in flight may have been answered without being committed.
type fault struct {
	name  string
	redis bool // it is about Redis, so that redis.outage tells its effect
	rows  bool // like such a fault, it may take rows of M away, so that predictions may be degraded
	// of reports whether a world can have the fault; nil: all can.
	of   func(*world.World) bool
	deal func(ctx context.Context, r *run, rng *rand.Rand) (blows int, err error)
	// alone: it is not dealt together with others.
	alone bool
}

// between draws a time, to the millisecond.
func between(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64((to-from)/time.Millisecond)+1))*time.Millisecond
}

// Kinds of worlds.
func cluster(w *world.World) bool  { return len(w.Brokers) > 2 }
func single(w *world.World) bool   { return w.Redis != nil }
func sentinel(w *world.World) bool { return w.Watched != nil }
func upgraded(w *world.World) bool { return w.OldBin != "" }
func elects(w *world.World) bool   { return cluster(w) && with(others)(w) }
func with(of func(stream.Kind) bool) func(*world.World) bool {
	return func(w *world.World) bool { return slices.ContainsFunc(stream.Kinds(w.Options), of) }
}
func merges(k stream.Kind) bool { return k.Merged }
func others(k stream.Kind) bool { return !k.Merged }
func all(stream.Kind) bool      { return true }

// faults lists all faults in the order of the table.
var faults = []fault{
	{name: "consumer killed (SIGKILL) and started again", deal: killOne},
	{name: "all consumers killed, started seconds later", deal: killAll},
	{name: "consumer killed before it publishes a batch", deal: killAt(world.BeforePublish)},
	{name: "consumer killed after it has published a batch", deal: killAt(world.AfterPublish)},
	{name: "consumer killed before it commits a batch", deal: killAt(world.BeforeCommit)},
	{name: "consumer stopped beyond its session (SIGSTOP), then on", deal: zombie},
	{name: "consumers join and leave", deal: rebalance},
	{name: "SIGTERM in a join", deal: termInJoin},
	{name: "consumer's clock stepped by hours, and back", deal: clockStepped},
	{name: "old and new programs in one group", of: upgraded, deal: rollingUpgrade, alone: true},
	{name: "broker killed (SIGKILL) and started", deal: brokerDown("kill")},
	{name: "broker restarted in order", deal: brokerDown("stop")},
	{name: "all brokers killed (SIGKILL) and started", of: cluster, deal: allBrokersKilled},
	{name: "leader of arrivals killed and started", of: cluster, deal: leaderKilled},
	{name: "coordinator of groups moves", of: cluster, deal: coordinatorMoves},
	{name: "min.insync.replicas unmet", of: cluster, deal: replicasMissing, alone: true},
	{name: "unclean election, consumers killed in the wait", of: elects, deal: uncleanElection, alone: true},
	{name: "consumer cut off from Kafka", deal: cutKafka},
	{name: "partitions added", deal: partitionsAdded, alone: true},
	{name: "topic of arrivals deleted and made anew", of: with(others), deal: topicMadeAnew, alone: true},
	{name: "records deleted that nobody has read", of: with(others), deal: recordsDeleted, alone: true},
	{name: "offsets reset by an operator", deal: offsetsReset, alone: true},
	{name: "offsets expired, records too", of: with(others), deal: groupDeleted, alone: true},
	{name: "offsets expired, start at latest", of: with(others), deal: startAtLatest, alone: true},
	{name: "topics stamp records themselves, short segments", deal: topicsConfigured, alone: true},
	{name: "consumer cut off from Redis", redis: true, of: single, deal: cutRedis},
	{name: "Redis restarted, with its data", redis: true, of: single, deal: redisRestarted},
	{name: "Redis killed (SIGKILL), with its append-only file", redis: true, of: single, deal: redisKilled},
	{name: "Redis master killed, its replica promoted", redis: true, of: sentinel, deal: failover},
	{name: "Redis hung (SIGSTOP)", redis: true, of: single, deal: redisHung},
	{name: "Redis flushed, later published again", redis: true, deal: redisFlushed},
	{name: "current version deleted, later another published", redis: true, deal: versionDeleted},
	{name: "schema registry away, with new schemas", of: with(writes(record.ByAvro)), deal: registryAway},
	{name: "Redis of features by id hung or restarted", of: with(writes(record.Absent)), deal: featuresAway},
	{name: "artifacts swapped, publisher killed half-way", rows: true, deal: swap},
	{name: "two publishers of one artifact, and one of another", rows: true, deal: twoPublishers},
	{name: "refresh killed, then run to its end", of: with(merges), deal: refreshed, alone: true},
	{name: "two refreshes at once", of: with(merges), deal: twoRefreshers, alone: true},
	{name: "poison: half of the records", deal: poisoned},
	{name: "records of one byte up to the limit", deal: sizes},
	{name: "compression bombs", deal: bombs, alone: true},
	{name: "poison of 80,650 headers", deal: manyHeaders, alone: true},
	{name: "no keys, topics of answers compacted", deal: keyless, alone: true},
	{name: "topics of answers take small batches only", deal: smallMessages, alone: true},
}

// several deals some faults at once.
var several = fault{name: "three of these at once", rows: true, deal: func(ctx context.Context, r *run,
	rng *rand.Rand) (int, error) {
	type dealt struct {
		blows int
		err   error
	}
	var wait sync.WaitGroup
	var may []fault
	for _, f := range faults {
		if !f.alone && (f.of == nil || f.of(r.world)) {
			may = append(may, f)
		}
	}
	results := make([]dealt, 3)
	for i, which := range rng.Perm(len(may))[:len(results)] {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		r.world.Say("  at once: %s", may[which].name)
		wait.Go(func() { results[i].blows, results[i].err = may[which].deal(ctx, r, own) })
	}
	wait.Wait()
	blows, err := 0, error(nil)
	for _, d := range results {
		blows, err = blows+d.blows, errors.Join(err, d.err)
	}
	return blows, err
}}

// took returns an error that says how a fault had no effect. Among several faults at once one may have none: what it
// breaks may be broken already.
func (r *run) took(so bool, format string, args ...any) error {
	if so || !r.calm {
		return nil
	}
	return fmt.Errorf("it had no effect: "+format, args...)
}

// eventually waits for a fault's necessary effect on a stream.
func (r *run) eventually(ctx context.Context, s *stream.Stream, what string, so func() bool) error {
	if !r.calm {
		return nil
	}
	return harness.Await(ctx, patience, s.Name+": "+what, func() bool { return s.Broken.Load() || so() })
}

// each does something to one member of every stream.
func (r *run) each(which int, do func(*world.Member) error) error {
	var err error
	for _, s := range r.streams {
		err = errors.Join(err, do(s.Members[which]))
	}
	return err
}

// kill kills a member that is running.
func (r *run) kill(m *world.Member) error { return r.took(m.Kill(), "%s: nobody to kill", m.Log) }

func killOne(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	const times = 2
	for range times {
		err := r.each(rng.IntN(2), func(m *world.Member) error { return errors.Join(r.kill(m), m.Start()) })
		if err := errors.Join(err, harness.Sleep(ctx, between(rng, 500*time.Millisecond, 3*time.Second))); err != nil {
			return 0, err
		}
	}
	return times, nil
}

func killAll(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	err := errors.Join(r.each(0, r.kill), r.each(1, r.kill), harness.Sleep(ctx, between(rng, time.Second, 3*time.Second)))
	return 1, errors.Join(err, r.each(0, (*world.Member).Start), r.each(1, (*world.Member).Start))
}

// zombie stops consumers until their groups go on without them.
func zombie(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	which := rng.IntN(2)
	err := r.each(which, func(m *world.Member) error { return m.Signal(syscall.SIGSTOP) })
	err = errors.Join(err, harness.Sleep(ctx, stream.SessionTimeout+between(rng, time.Second, 4*time.Second)))
	err = errors.Join(err, r.atOnce(func(s *stream.Stream) error { return r.awaitMember(ctx, s, which, false) }))
	return 1, errors.Join(err, r.each(which, func(m *world.Member) error { return m.Signal(syscall.SIGCONT) }))
}

// rebalance lets a guest come, one of the others leave and return, and the guest leave.
func rebalance(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	const guest = world.Members - 1
	pause := func() error { return harness.Sleep(ctx, between(rng, time.Second, 3*time.Second)) }
	drain := func(m *world.Member) error { return m.Drain(patience) }
	group := func(which int, there bool) func() error {
		return func() error {
			return r.atOnce(func(s *stream.Stream) error { return r.awaitMember(ctx, s, which, there) })
		}
	}
	other := rng.IntN(2)
	for _, step := range []func() error{
		func() error { return r.each(guest, (*world.Member).Start) }, pause, group(guest, true),
		func() error { return r.each(other, drain) }, group(other, false), pause,
		func() error { return r.each(other, (*world.Member).Start) }, pause, group(other, true),
		func() error { return r.each(guest, drain) }, group(guest, false),
	} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return 4, nil
}

// clockStepped steps the clock of a consumer of each stream forth or back, and then back.
func clockStepped(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	which, ahead := rng.IntN(2), between(rng, stream.ClockStep, 3*time.Hour)
	if rng.IntN(2) == 0 {
		ahead = -ahead
	}
	r.world.Say("  by %v", ahead)
	set := func(ahead time.Duration) error {
		return r.each(which, func(m *world.Member) error { return m.SetClock(ahead) })
	}
	const what = "predictions have the time of a stepped clock, or brokers refuse it (programs need the tag chaos)"
	err := r.rises(ctx, what, 0, func(s *stream.Stream) int64 {
		return s.Stepped.Load() + int64(s.Members[which].Says("this machine's clock says"))
	}, func() error {
		return errors.Join(set(ahead), harness.Sleep(ctx, between(rng, 3*time.Second, 8*time.Second)))
	})
	return 0, errors.Join(err, set(0))
}

// rollingUpgrade runs old and new programs side by side for two minutes.
func rollingUpgrade(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	blows := 0
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; {
		which, old := rng.IntN(2), rng.IntN(2) == 0
		for _, s := range r.streams {
			m := s.Members[which]
			m.Bin = ""
			if old {
				m.Bin = r.world.OldBin
			}
			if rng.IntN(2) == 0 {
				m.Kill()
				blows++
			} else if err := m.Drain(patience); err != nil {
				return 0, err
			}
			if err := m.Start(); err != nil {
				return 0, err
			}
		}
		err := r.atOnce(func(s *stream.Stream) error { return r.awaitMember(ctx, s, which, true) })
		if err = errors.Join(err, harness.Sleep(ctx, between(rng, 2*time.Second, 8*time.Second))); err != nil {
			return 0, err
		}
	}
	for which := range 2 { // all of them new again
		for _, s := range r.streams {
			m := s.Members[which]
			if m.Bin == "" {
				continue
			}
			m.Bin = ""
			if err := errors.Join(m.Drain(patience), m.Start()); err != nil {
				return 0, err
			}
		}
	}
	return blows, nil
}
