package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// cut closes proxies for a while: connections are refused, or no bytes pass.
func (r *run) cut(ctx context.Context, rng *rand.Rand, proxies ...*harness.Proxy) error {
	how, conns := []harness.State{harness.Refused, harness.Silent}[rng.IntN(2)], 0
	for _, p := range proxies {
		defer p.Set(harness.Passing) //nolint:revive // all of them, when the time is over
		conns += p.Conns()
		p.Set(how)
	}
	err := harness.Sleep(ctx, between(rng, 2*time.Second, stream.SessionTimeout+3*time.Second))
	return errors.Join(err, r.took(conns > 0, "nobody was connected"))
}

func cutKafka(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 1, r.cut(ctx, rng, r.world.KafkaWays[rng.IntN(2)]...)
}

// brokerDown ends one broker and starts it again.
func brokerDown(how string) func(context.Context, *run, *rand.Rand) (int, error) {
	return func(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
		b := r.world.Brokers[rng.IntN(len(r.world.Brokers))]
		return 1, r.without(ctx, how, harness.Brokers{b},
			func() error { return harness.Sleep(ctx, between(rng, 0, 2*time.Second)) })
	}
}

func allBrokersKilled(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	return 1, r.without(ctx, "kill", r.world.Brokers, func() error {
		return harness.Sleep(ctx, between(rng, 0, 2*time.Second))
	})
}

// without does something while brokers are down.
func (r *run) without(ctx context.Context, how string, down harness.Brokers, do func() error) error {
	r.brokers.Lock()
	defer r.brokers.Unlock()
	if err := down.Do(ctx, how); err != nil {
		return err
	}
	err := r.took(!world.Listens(ctx, down[0]), "the broker still listens")
	err = errors.Join(err, do())
	return errors.Join(err, down.Do(context.WithoutCancel(ctx), "start"))
}

// leaderKilled kills the leader of a partition of arrivals and starts it when another one leads.
func leaderKilled(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	topic, partition := r.streams[rng.IntN(len(r.streams))].Topic("arrivals"), int32(rng.IntN(stream.Partitions))
	leader := func() int32 {
		topics, err := r.world.Kafka.ListTopics(ctx, topic)
		if err != nil || topics[topic].Partitions[partition].Err != nil {
			return -1
		}
		return topics[topic].Partitions[partition].Leader
	}
	return r.moves(ctx, "kill", fmt.Sprintf("leader of %s/%d", topic, partition), leader)
}

// moves takes the broker down that has an office, and starts it when another one has it.
func (r *run) moves(ctx context.Context, how, office string, broker func() int32) (int, error) {
	was := broker()
	if was < 1 {
		return 0, r.took(false, "there is no %s", office)
	}
	return 2, r.without(ctx, how, r.world.Brokers[was-1:was], func() error {
		return r.eventuallyIn(ctx, "another broker is "+office, func() bool { is := broker(); return is > 0 && is != was })
	})
}

// coordinatorMoves stops the coordinator of a group until another broker is.
func coordinatorMoves(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	group := r.streams[rng.IntN(len(r.streams))].Name
	coordinator := func() int32 {
		found := r.world.Kafka.FindGroupCoordinators(ctx, group)[group]
		if found.Err != nil {
			return -1
		}
		return found.NodeID
	}
	return r.moves(ctx, "stop", "coordinator of group "+group, coordinator)
}

func (r *run) eventuallyIn(ctx context.Context, what string, so func() bool) error {
	err := harness.Await(ctx, 2*time.Minute, what, so)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return r.took(err == nil, "%v", err)
}

// replicasMissing makes the topics of answers require all replicas while one is down.
func replicasMissing(ctx context.Context, r *run, rng *rand.Rand) (int, error) {
	const setting = "min.insync.replicas"
	all := map[string]string{setting: fmt.Sprint(len(r.world.Brokers))}
	most := map[string]string{setting: fmt.Sprint(len(r.world.Brokers) - 1)}
	which := rng.IntN(len(r.world.Brokers))
	probe := &kgo.Record{Key: []byte("k"), Value: []byte("probe")}
	// After an earlier fault the brokers that stay may not be in sync yet: then a partition would have
	// no leader at all.
	if err := r.eventuallyIn(ctx, "all replicas are in sync", func() bool { return r.world.InSync(ctx) }); err != nil {
		return 0, err
	}
	return 2, r.without(ctx, "kill", r.world.Brokers[which:which+1], func() error {
		return r.configured(ctx, all, most, probe, kerr.NotEnoughReplicas, func() error {
			return harness.Sleep(ctx, between(rng, 3*time.Second, 10*time.Second))
		})
	})
}
