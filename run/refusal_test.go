package run

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/mapping/mappingtest"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/test/expect"
)

// published starts an embedded Kafka, and an embedded Redis with an artifact in it.
func published(t *testing.T) (config.Consumer, *miniredis.Miniredis) {
	t.Helper()
	cfg, server := brokerOf(t), miniredis.RunT(t)
	cfg.Redis.URL = config.RedisURL("redis://" + server.Addr())
	cfg.Redis.Retry.Attempts, cfg.Redis.PollInterval = 0, 10*time.Millisecond
	if err := connect.WithPublisher(cfg.Redis.RedisServer, func(p *serving.Publisher) error {
		return p.Publish(t.Context(), growing(t, 9), serving.PublishOptions{})
	}); err != nil {
		t.Fatal(err)
	}
	return cfg, server
}

// A consumer that Redis refuses at its start ends at once, and says which setting or right it needs.
func TestRefusalsByRedisEndTheConsumer(t *testing.T) {
	cfg, server := published(t)
	const noRight = "NOPERM this user has no permissions to run the 'hmget' command"
	for _, c := range []struct{ url, answer, want string }{
		{"redis://me:other@" + server.Addr(), "", "correct redis.username and redis.password"},
		{"redis://" + server.Addr(), "", "set redis.password or redis.password_file"},
		{"redis://me:word@" + server.Addr(), noRight,
			"ACL SETUSER user +hmget; the line of rivulet-consumer in deploy/redis.acl"},
		{"redis://me:word@" + server.Addr(), "NOPERM No permissions to access a key", "~PREFIX:*"},
		{"redis://me:word@" + server.Addr(), "MOVED 1 127.0.0.1:1", "set redis.cluster"},
		{"redis://me:word@" + server.Addr(), "ERR unknown command 'HMGET'", "does not take the command"},
	} {
		server.RequireUserAuth("me", "word")
		server.SetError(c.answer)
		cfg.Redis.URL = config.RedisURL(c.url)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := Consumer(ctx, cfg, slog.New(slog.DiscardHandler), nil)
		cancel()
		if err == nil || !strings.Contains(err.Error(), " -> ") || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "word@") {
			t.Errorf("%s%s: Run returned %v, want %q", c.url, c.answer, err, c.want)
		}
	}
}

// reading is an observer that waits until partitions are read, which begins with a version to serve.
type reading struct {
	consumer.NopObserver
	begun chan struct{}
}

func (r reading) Rebalance([]kafka.TopicPartition) { r.begun <- struct{}{} }

// running starts a consumer and waits until it serves a version.
func running(t *testing.T, cfg config.Consumer) (end context.CancelFunc, done <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended, r := make(chan error, 1), reading{begun: make(chan struct{}, 10)}
	go func() { ended <- Consumer(ctx, cfg, slog.New(slog.DiscardHandler), r) }()
	<-r.begun
	return cancel, ended
}

// A password that is changed under a running consumer: the consumer goes on with what it has, as long as its heartbeats
// protect the version, and then ends.
func TestARefusalOfARunningConsumer(t *testing.T) {
	cfg, server := published(t)
	const refusal = "WRONGPASS invalid username-password pair or user is disabled."
	cfg.Redis.HeartbeatTTL = time.Hour
	end, done := running(t, cfg)
	server.SetError(refusal)
	time.Sleep(20 * cfg.Redis.PollInterval)
	server.SetError("")
	end()
	if err := <-done; err != nil {
		t.Errorf("after a refusal that was shorter than the heartbeats: %v", err)
	}
	cfg.Redis.HeartbeatTTL = 20 * cfg.Redis.PollInterval
	_, done = running(t, cfg)
	server.SetError(refusal)
	if err := <-done; !mapping.Refused(err) || !strings.Contains(err.Error(), "redis.password") {
		t.Errorf("Run returned %v", err)
	}
}

// A damaged row costs the arrivals that list a node of its page, and no others, and the stream goes on, whether Redis
// is waited for or not.
func TestADamagedRowDegradesItsNeighbours(t *testing.T) {
	for _, outage := range []string{"wait", config.Degrade} {
		cfg, server := published(t)
		cfg.Redis.Outage, cfg.Cache.Bytes = outage, 0
		b := growing(t, 9)
		arrivals, _ := newcomers(b, 6)
		id := b.Mapping.IDs[2]
		for _, key := range server.Keys() {
			if !strings.Contains(key, ":rows:") {
				continue
			}
			pages := mapping.LayoutOf(b.Mapping).Pages
			text, err := server.Get(key)
			expect.OK(t, err)
			if slices.Contains(mappingtest.IDs(text, pages), id) {
				expect.OK(t, server.Set(key, mappingtest.Damaged(text, pages, id)))
			}
		}
		marked, want := []string{}, []string{}
		for _, p := range stream(t, cfg, arrivals) {
			if p.Degraded {
				marked = append(marked, p.ID)
			}
		}
		for _, a := range arrivals {
			if slices.Contains(a.Edges, id) {
				want = append(want, a.ID)
			}
		}
		others := func(id string) bool { return !slices.Contains(marked, id) }
		if slices.ContainsFunc(want, others) || len(want) == 0 || len(marked) == len(arrivals) {
			t.Errorf("%s: degraded are %q, want %q, and not all", outage, marked, want)
		}
	}
}
