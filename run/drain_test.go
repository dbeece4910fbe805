package run

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// hanging returns the address of a server that accepts connections and never answers.
func hanging(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.OK(t, err)
	var open sync.WaitGroup
	var all []net.Conn
	open.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			all = append(all, in)
		}
	})
	t.Cleanup(func() {
		expect.OK(t, l.Close())
		open.Wait()
		for _, c := range all {
			_ = c.Close()
		}
	})
	return l.Addr().String()
}

// A stop ends within shutdown.drain_timeout whatever hangs: brokers, Redis, the registry, at the start or later. The
// bound of the test is wide, as it may run on a busy machine; what hung took from 12 s to 35 s.
func TestAStopEndsInTimeWhateverHangs(t *testing.T) {
	const limit, wide = time.Second, 9 * time.Second
	broker := func(t *testing.T) *devstack.Kafka {
		t.Helper()
		k, err := devstack.StartKafka(devstack.KafkaOptions{Topics: topics()})
		expect.OK(t, err)
		t.Cleanup(k.Close)
		return k
	}
	ends := func(t *testing.T, cfg config.Consumer, log *harness.Transcript, ready func() bool) {
		t.Helper()
		cfg.Shutdown.DrainTimeout, cfg.HTTP.Listen = limit, ""
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		done := make(chan error, 1)
		go func() {
			done <- Consumer(ctx, cfg, slog.New(slog.NewTextHandler(io.MultiWriter(log, t.Output()), nil)), nil)
		}()
		await(t, ready)
		stop()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, consumer.ErrDrainTimeout) {
				t.Error(err)
			}
		case <-time.After(wide):
			t.Errorf("it has not ended %v after the stop, with a drain of %v; later it did with %v", wide, limit, <-done)
		}
	}
	starts := func(log *harness.Transcript) func() bool {
		begun := time.Now()
		return func() bool {
			return strings.Contains(log.String(), "the consumer starts") && time.Since(begun) > 300*time.Millisecond
		}
	}
	t.Run("brokers, at the start", func(t *testing.T) {
		cfg, _ := pinnedConfig(t, hanging(t))
		var log harness.Transcript
		ends(t, cfg, &log, starts(&log))
	})
	for _, delivery := range []string{config.AtLeastOnce, config.ExactlyOnce} {
		t.Run("brokers, later, "+delivery, func(t *testing.T) {
			k := broker(t)
			cfg, ids := pinnedConfig(t, k.Addrs()...)
			send(t, cfg, ids)
			cfg.Delivery = delivery
			release := make(chan struct{})
			defer close(release)
			var hangs atomic.Bool
			k.Cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
				k.Cluster.KeepControl()
				if hangs.Load() {
					k.Cluster.SleepControl(func() { <-release })
				}
				return nil, nil, false
			})
			var log harness.Transcript
			ends(t, cfg, &log, func() bool {
				joined := strings.Contains(log.String(), "joined the consumer group")
				hangs.Store(joined)
				return joined
			})
		})
	}
	t.Run("Redis, at the start", func(t *testing.T) {
		cfg, _ := pinnedConfig(t, broker(t).Addrs()...)
		cfg.Artifact = ""
		cfg.Redis.URL = config.RedisURL("redis://" + hanging(t))
		var log harness.Transcript
		ends(t, cfg, &log, starts(&log))
	})
	t.Run("the registry, at the start", func(t *testing.T) {
		cfg, _ := pinnedConfig(t, broker(t).Addrs()...)
		cfg.Registry.URLs = []string{"http://" + hanging(t)}
		cfg.Output.Registry = config.RegistryRegister
		var log harness.Transcript
		ends(t, cfg, &log, starts(&log))
	})
	t.Run("the issuer of tokens", func(t *testing.T) {
		k := broker(t)
		k.Cluster.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
			k.Cluster.KeepControl()
			return r.ResponseKind(), nil, true
		})
		cfg, _ := pinnedConfig(t, k.Addrs()...)
		cfg.Kafka.SASL = config.KafkaSASL{Mechanism: "oauthbearer", OAuth: config.OAuth{ClientID: "me", ClientSecret: "s",
			TokenURL: "http://" + hanging(t)}}
		var log harness.Transcript
		ends(t, cfg, &log, starts(&log))
	})
}

// The line about a consumer that has no version to serve says why, and what to do.
func TestTheWaitForAVersionSaysWhy(t *testing.T) {
	empty, err := devstack.StartRedis()
	expect.OK(t, err)
	defer empty.Close()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.OK(t, err)
	expect.OK(t, closed.Close())
	for url, why := range map[string]string{empty.URL(): "trainer publish",
		"redis://" + closed.Addr().String(): "connection refused"} {
		cfg, _ := pinnedConfig(t, "127.0.0.1:1")
		cfg.Artifact, cfg.Redis.URL = "", config.RedisURL(url)
		ctx, stop := context.WithCancel(t.Context())
		var log harness.Transcript
		done := make(chan error, 1)
		go func() { done <- Consumer(ctx, cfg, slog.New(slog.NewTextHandler(&log, nil)), nil) }()
		await(t, func() bool {
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "waiting for a version to serve") && strings.Contains(line, why) {
					return true
				}
			}
			return false
		})
		stop()
		expect.OK(t, <-done)
	}
}
