package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"rivulet/test/chaos/stream"
	"rivulet/test/harness"
)

// uncleanElection has one topic of arrivals go on with the log of a replica that lacks its newest records, while
// arrivals come. Some of the lost records are answered by then, and consumers are killed with others in hand.
// The new records at their offsets must be answered, too.
//
// The topic has two replicas for that time. The broker of one (lags) is down while records come, so that only the other
// one (leads) has them. Then the leader is killed, the first broker is started, and an operator makes it the leader.
func uncleanElection(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	s := r.streams[slices.IndexFunc(r.streams, func(s *stream.Stream) bool { return others(s.Kind) })]
	allInSync := func() error {
		return r.eventuallyIn(ctx, "all replicas are in sync", func() bool { return r.world.InSync(ctx) })
	}
	if err := allInSync(); err != nil {
		return 0, err
	}
	r.brokers.Lock()
	defer r.brokers.Unlock()
	brokers := rng.Perm(len(r.world.Brokers))[:2]
	leads, lags := int32(brokers[0]+1), int32(brokers[1]+1)
	down := func(how string, number int32) error { return r.world.Brokers[number-1].Do(ctx, how) }
	topic := s.Topic("arrivals")
	led := func(by int32, inSync int) func() bool {
		return func() bool { return r.world.Led(ctx, topic, by, inSync) }
	}
	replicas := func(numbers ...int32) func() error {
		return func() error { return r.world.Assign(ctx, topic, numbers...) }
	}
	await := func(what string, so func() bool) func() error {
		return func() error { return r.eventuallyIn(ctx, fmt.Sprintf("%s: %s", topic, what), so) }
	}
	free := func() {} // lets the load go on, if it is held
	defer func() { free() }()
	for _, step := range []func() error{
		replicas(leads), await("one replica leads", led(leads, 1)), replicas(leads, lags),
		await("both replicas are in sync", led(leads, 2)),
		// No transaction may be open, as its end would be lost without its records. And what is lost is sent within the
		// wait, so that consumers answer beyond the place at which they are to read again.
		func() (err error) { free, err = s.Pause(ctx); return err },
		func() error { return down("kill", lags) }, await("the leader is alone", led(leads, 1)),
		func() error { free(); free = func() {}; return r.answeredBehindTheEnd(ctx, s) },
		func() (err error) { free, err = s.Pause(ctx); return err },
		func() error { return harness.Await(ctx, patience, s.Name+": all arrivals are read", s.Ledger.AllRead) },
		func() error { return errors.Join(r.kill(s.Members[0]), r.kill(s.Members[1])) },
		func() error { return down("kill", leads) }, func() error { return down("start", lags) },
		await("the other replica leads", func() bool { return r.world.Elect(ctx, topic) && led(lags, 1)() }),
		func() error {
			lost, err := s.Truncated(ctx)
			return errors.Join(err, r.took(lost > 0, "no record is lost"))
		},
		func() error {
			free()
			free = func() {}
			s.Burst(ctx, 200)
			return harness.Sleep(ctx, between(rng, 0, 2*time.Second))
		},
		func() error { return errors.Join(s.Members[0].Start(), s.Members[1].Start()) },
		func() error { return down("start", leads) },
		replicas(1, 2, 3), allInSync,
	} {
		if err := step(); err != nil {
			_ = errors.Join(down("start", lags), down("start", leads)) // one that runs refuses
			return 0, err
		}
	}
	return 2, nil
}

// answeredBehindTheEnd sends arrivals, and waits until one behind the present end of each partition is answered.
func (r *run) answeredBehindTheEnd(ctx context.Context, s *stream.Stream) error {
	ends, err := r.world.Kafka.ListEndOffsets(ctx, s.Topic("arrivals"))
	if err = errors.Join(err, ends.Error()); err != nil {
		return err
	}
	s.Burst(ctx, 100)
	return r.eventually(ctx, s, "arrivals are answered that one replica has", func() (so bool) {
		so = true
		ends.Each(func(o kadm.ListedOffset) {
			so = so && s.Ledger.AnsweredIn(s.Life(), int(o.Partition), o.Offset)
		})
		return so
	})
}
