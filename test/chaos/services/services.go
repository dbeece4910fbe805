// Package services starts what the programs of a run talk to, and the proxies between: Kafka, Redis, a schema registry,
// and a second Redis with features by id.
//
//	services.go  all of them, started and closed
//	kafka.go     what is asked of the brokers
//	redis.go     what is asked of Redis
package services

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// Members is how many consumers a group may have: two, and a guest. Member i of each group has proxies of its own.
const Members = 3

// Options say what is started.
type Options struct {
	Dir      string // where the services have their files
	Brokers  int
	Sentinel bool // Redis is a master and a replica with a sentinel
	Seed     uint64
	Tap      harness.KafkaTap // is told of requests to Kafka
}

// Services are those of one run.
type Services struct {
	options Options

	Brokers     harness.Brokers
	Kafka       *harness.Kafka
	Redis       *harness.Redis            // nil: watched
	Watched     *harness.Watched          // nil: redis
	Store       *redis.Client             // of redis or watched, past the proxies
	KafkaWays   [Members][]*harness.Proxy // to each broker
	RedisWays   [Members]*harness.Proxy
	Registry    *record.Registry
	Stored      *harness.Redis // features by id
	FeatureWays [Members]*harness.Proxy
}

func (s *Services) path(name string) string { return filepath.Join(s.options.Dir, name) }

// Launch starts all services. The caller closes them, also after an error.
func (s *Services) Launch(ctx context.Context, o Options) (err error) {
	s.options = o
	for i := range Members {
		if s.RedisWays[i], err = harness.NewProxy(ctx); err != nil {
			return err
		}
	}
	if err := s.startKafka(ctx); err != nil {
		return err
	}
	if err := s.startRedis(ctx); err != nil {
		return err
	}
	return s.startSources(ctx)
}

// startSources starts a schema registry, and a Redis of its own for features by id.
func (s *Services) startSources(ctx context.Context) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	if s.Registry, err = record.NewRegistry(root); err != nil {
		return err
	}
	if err := os.MkdirAll(s.path("features"), 0o700); err != nil {
		return err
	}
	s.Stored, err = harness.LaunchRedis("redis-server", s.path("features"), //nolint:contextcheck // it ends by itself
		"--appendonly", "yes")
	if err != nil {
		return err
	}
	for i := range Members {
		if s.FeatureWays[i], err = harness.NewProxy(ctx); err != nil {
			return err
		}
		s.FeatureWays[i].Serve(ctx, s.Stored.Addr)
	}
	return nil
}

// startRedis starts a Redis, or two with a sentinel, which writes its data to a file: acknowledged writes are there
// after the process is killed.
func (s *Services) startRedis(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.path("redis"), 0o700); err != nil {
		return err
	}
	file := []string{"--appendonly", "yes", "--appendfsync", "everysec"}
	if s.options.Sentinel {
		//nolint:contextcheck // it ends by itself
		if s.Watched, err = harness.LaunchWatched("redis-server", s.path("redis"), file...); err != nil {
			return err
		}
		s.Store = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "rivulet",
			SentinelAddrs: []string{s.Watched.Sentinel.Addr},
			Protocol:      2, DisableIdentity: true, MaxRetries: -1})
		return nil
	}
	//nolint:contextcheck // it ends by itself
	if s.Redis, err = harness.LaunchRedis("redis-server", s.path("redis"), file...); err != nil {
		return err
	}
	s.Store = s.Redis.Client()
	for i := range Members {
		s.RedisWays[i].Serve(ctx, s.Redis.Addr)
	}
	return nil
}

// startKafka starts the brokers. Member i of every stream comes to each of them through a proxy of its own.
func (s *Services) startKafka(ctx context.Context) (err error) {
	ports := make([][]int, s.options.Brokers) // of the proxies, by broker
	for i := range Members {
		for b := range ports {
			p, err := harness.NewProxy(ctx)
			if err != nil {
				return err
			}
			_, text, _ := net.SplitHostPort(p.Addr())
			port, _ := strconv.Atoi(text)
			s.KafkaWays[i], ports[b] = append(s.KafkaWays[i], p), append(ports[b], port)
		}
	}
	rng := rand.New(rand.NewPCG(s.options.Seed, uint64(os.Getpid())))
	for attempt := range 4 { // a port may be taken
		first, distance := 20000+rng.IntN(10000), harness.BehindProxies+Members
		at := make([]int, len(ports))
		for b := range at {
			at[b] = first + b*distance
		}
		s.Brokers = harness.NewBrokers(s.path("kafka"), at, ports, "384m")
		if err = s.Brokers.Do(ctx, "start"); err == nil || attempt == 3 {
			break
		}
		_ = s.Brokers.Do(ctx, "wipe")
	}
	if err != nil {
		return err
	}
	for i := range Members {
		for b, p := range s.KafkaWays[i] {
			p.ServeTapped(ctx, s.Brokers[b].Addr(harness.BehindProxies+i), s.options.Tap)
		}
	}
	s.Kafka, err = harness.NewKafka(s.Brokers.Addrs()...)
	return err
}

// RedisURL returns the settings that say where Redis is: at an address, or wherever the sentinel says.
func (s *Services) RedisURL(addr string) string {
	if s.Watched != nil {
		return fmt.Sprintf("url: \"redis://%s/0\", sentinel: {master: rivulet}", s.Watched.Sentinel.Addr)
	}
	return fmt.Sprintf("url: \"redis://%s/0\"", addr)
}

// Close ends the services.
func (s *Services) Close(ctx context.Context) {
	if s.Redis != nil {
		s.Redis.Kill()
	}
	if s.Watched != nil {
		s.Watched.Kill()
	}
	if s.Stored != nil {
		s.Stored.Kill()
	}
	if s.Registry != nil {
		s.Registry.Close()
	}
	if s.Store != nil {
		_ = s.Store.Close()
	}
	for _, p := range slices.Concat(append(s.KafkaWays[:], s.RedisWays[:], s.FeatureWays[:])...) {
		if p != nil {
			p.Close()
		}
	}
	if s.Kafka != nil {
		s.Kafka.Close()
	}
	_ = s.Brokers.Do(ctx, "kill")
}
