package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// Members is the number of consumers that a group may have: two, and a guest. Member i of each group has proxies of
// its own.
const Members = 3

// Services are the brokers, Redis and others that the programs talk to.
type Services struct {
	Brokers     harness.Brokers
	Kafka       *harness.Kafka
	Redis       *harness.Redis            // nil: Watched
	Watched     *harness.Watched          // nil: Redis
	Store       *redis.Client             // of Redis or Watched, past the proxies
	KafkaWays   [Members][]*harness.Proxy // to each broker
	RedisWays   [Members]*harness.Proxy
	Registry    *record.Registry
	Stored      *harness.Redis // features by id
	FeatureWays [Members]*harness.Proxy

	stopWatch func() // ends the look at versions' markers; nil: there is none
}

// startServices starts Kafka, with a listener behind each proxy, Redis and the rest.
func (w *World) startServices(ctx context.Context) (err error) {
	w.Say("starting Kafka, %d brokers, and Redis", w.Options.Brokers)
	for i := range Members {
		if w.RedisWays[i], err = harness.NewProxy(ctx); err != nil {
			return err
		}
	}
	if err := w.startKafka(ctx); err != nil {
		return err
	}
	if err := w.startRedis(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watchMarkers(watching)
	}()
	w.stopWatch = func() { stop(); <-watched }
	return w.startSources(ctx)
}

// startSources starts a schema registry, and a Redis of its own for features by id.
func (w *World) startSources(ctx context.Context) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	if w.Registry, err = record.NewRegistry(root); err != nil {
		return err
	}
	if err := os.MkdirAll(w.Path("features"), 0o700); err != nil {
		return err
	}
	w.Stored, err = harness.LaunchRedis("redis-server", w.Path("features"), //nolint:contextcheck // it ends by itself
		"--appendonly", "yes")
	if err != nil {
		return err
	}
	for i := range Members {
		if w.FeatureWays[i], err = harness.NewProxy(ctx); err != nil {
			return err
		}
		w.FeatureWays[i].Serve(ctx, w.Stored.Addr)
	}
	return nil
}

// startRedis starts a Redis, or two with a sentinel, which writes its data to a file: acknowledged writes are there
// after the process is killed.
func (w *World) startRedis(ctx context.Context) (err error) {
	if err := os.MkdirAll(w.Path("redis"), 0o700); err != nil {
		return err
	}
	file := []string{"--appendonly", "yes", "--appendfsync", "everysec"}
	if w.Options.Sentinel {
		//nolint:contextcheck // it ends by itself
		if w.Watched, err = harness.LaunchWatched("redis-server", w.Path("redis"), file...); err != nil {
			return err
		}
		w.Store = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "rivulet",
			SentinelAddrs: []string{w.Watched.Sentinel.Addr},
			Protocol:      2, DisableIdentity: true, MaxRetries: -1})
		return nil
	}
	//nolint:contextcheck // it ends by itself
	if w.Redis, err = harness.LaunchRedis("redis-server", w.Path("redis"), file...); err != nil {
		return err
	}
	w.Store = w.Redis.Client()
	for i := range Members {
		w.RedisWays[i].Serve(ctx, w.Redis.Addr)
	}
	return nil
}

// startKafka starts the brokers. Member i of every stream comes to each of them through a proxy of its own.
func (w *World) startKafka(ctx context.Context) (err error) {
	ports := make([][]int, w.Options.Brokers) // of the proxies, by broker
	for i := range Members {
		for b := range ports {
			p, err := harness.NewProxy(ctx)
			if err != nil {
				return err
			}
			_, text, _ := net.SplitHostPort(p.Addr())
			port, _ := strconv.Atoi(text)
			w.KafkaWays[i], ports[b] = append(w.KafkaWays[i], p), append(ports[b], port)
		}
	}
	rng := rand.New(rand.NewPCG(w.Options.Seed, uint64(os.Getpid())))
	for attempt := range 4 { // a port may be taken
		first, distance := 20000+rng.IntN(10000), harness.BehindProxies+Members
		at := make([]int, len(ports))
		for b := range at {
			at[b] = first + b*distance
		}
		w.Brokers = harness.NewBrokers(w.Path("kafka"), at, ports, "384m")
		if err = w.Brokers.Do(ctx, "start"); err == nil || attempt == 3 {
			break
		}
		_ = w.Brokers.Do(ctx, "wipe")
	}
	if err != nil {
		return err
	}
	for i := range Members {
		for b, p := range w.KafkaWays[i] {
			p.ServeTapped(ctx, w.Brokers[b].Addr(harness.BehindProxies+i), &w.Traps)
		}
	}
	w.Kafka, err = harness.NewKafka(w.Brokers.Addrs()...)
	return err
}

// RedisURL returns the settings that say where Redis is: at an address, or wherever the sentinel says.
func (w *World) RedisURL(addr string) string {
	if w.Watched != nil {
		return fmt.Sprintf("url: \"redis://%s/0\", sentinel: {master: rivulet}", w.Watched.Sentinel.Addr)
	}
	return fmt.Sprintf("url: \"redis://%s/0\"", addr)
}

// Close ends the services.
func (w *World) Close(ctx context.Context) {
	if w.stopWatch != nil {
		w.stopWatch()
	}
	if w.Redis != nil {
		w.Redis.Kill()
	}
	if w.Watched != nil {
		w.Watched.Kill()
	}
	if w.Stored != nil {
		w.Stored.Kill()
	}
	if w.Registry != nil {
		w.Registry.Close()
	}
	if w.Store != nil {
		_ = w.Store.Close()
	}
	for _, p := range slices.Concat(append(w.KafkaWays[:], w.RedisWays[:], w.FeatureWays[:])...) {
		if p != nil {
			p.Close()
		}
	}
	if w.Kafka != nil {
		w.Kafka.Close()
	}
	_ = w.Brokers.Do(ctx, "kill")
}
