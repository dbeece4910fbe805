package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run/connect"
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

// G13: A stop ends within shutdown.drain_timeout whatever hangs: brokers, Redis, the registry, at the start or later.
// The bound of the test is wide, as it may run on a busy machine; what hung took from 12 s to 35 s.
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
	// silent is a way to a server that falls silent: connections stay, and nothing comes any more.
	silent := func(t *testing.T, target string) *harness.Proxy {
		t.Helper()
		way, err := harness.NewProxy(t.Context())
		expect.OK(t, err)
		t.Cleanup(way.Close)
		way.Serve(context.WithoutCancel(t.Context()), target)
		return way
	}
	// later sends arrivals once the consumer has joined, and waits until the attempts at them hang.
	later := func(log *harness.Transcript, hang func()) func() bool {
		var since time.Time
		return func() bool {
			if since.IsZero() && strings.Contains(log.String(), "joined the consumer group") {
				hang()
				since = time.Now()
			}
			return !since.IsZero() && time.Since(since) > 500*time.Millisecond
		}
	}
	for _, delivery := range []string{config.AtLeastOnce, config.ExactlyOnce} {
		t.Run("Redis, later, "+delivery, func(t *testing.T) {
			server := miniredis.RunT(t)
			way := silent(t, server.Addr())
			cfg, ids := pinnedConfig(t, broker(t).Addrs()...)
			b, err := artifact.Read(cfg.Artifact)
			expect.OK(t, err)
			cfg.Artifact, cfg.Delivery, cfg.Cache.Bytes = "", delivery, 0
			cfg.Redis.URL = config.RedisURL("redis://" + way.Addr())
			publish(t, cfg.Redis.RedisServer, b)
			var log harness.Transcript
			ends(t, cfg, &log, later(&log, func() {
				way.Set(harness.Silent)
				send(t, cfg, ids)
			}))
		})
	}
	t.Run("the registry, later", func(t *testing.T) {
		cfg, _ := pinnedConfig(t, broker(t).Addrs()...)
		cfg.Registry.URLs = []string{"http://" + hanging(t)}
		var log harness.Transcript
		ends(t, cfg, &log, later(&log, func() {
			client, err := connect.Kafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Arrivals)
			expect.OK(t, err)
			defer client.Close()
			sink, err := kafka.NewSink(client, "", retry.Patience{})
			expect.OK(t, err)
			sh := sink.Shipment()
			expect.OK(t, sh.Add(t.Context(), cfg.Kafka.Topics.Arrivals, &kafka.Record{Value: []byte("\x00\x00\x00\x00\x07body")}))
			_, err = sink.Publish(t.Context(), sh)
			expect.OK(t, err)
		}))
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

// A server of answers ends within shutdown.drain_timeout while Redis hangs and a request waits for it, and where Redis
// hung from the start.
func TestAStopOfTheServerEndsInTime(t *testing.T) {
	const limit, wide = time.Second, 9 * time.Second
	for _, when := range []string{"at the start", "later"} {
		t.Run(when, func(t *testing.T) {
			server := miniredis.RunT(t)
			way, err := harness.NewProxy(t.Context())
			expect.OK(t, err)
			t.Cleanup(way.Close)
			way.Serve(context.WithoutCancel(t.Context()), server.Addr())
			c := config.Default[config.Consumer]()
			c.Redis.URL, c.Cache.Bytes = config.RedisURL("redis://"+way.Addr()), 0
			b := growing(t, 9)
			publish(t, c.Redis.RedisServer, b)
			cfg := serveSettings(c)
			cfg.Shutdown.DrainTimeout = limit
			if when == "at the start" {
				way.Set(harness.Silent)
			}
			url, stop := startServe(t, cfg)
			var asked sync.WaitGroup
			defer asked.Wait()
			if when == "later" {
				awaitReady(t, url, true)
				way.Set(harness.Silent)
				asked.Go(func() {
					body := fmt.Sprintf(`{"id":"a","features":[1,2,3,4,5],"edges":[%q]}`, b.Mapping.IDs[0])
					answer, err := http.Post(url+"/predict", "application/json", strings.NewReader(body))
					if err == nil {
						_ = answer.Body.Close()
					}
				})
			}
			time.Sleep(300 * time.Millisecond) // it hangs
			done := make(chan error, 1)
			go func() { done <- stop() }()
			select {
			case err := <-done:
				if err != nil && !errors.Is(err, consumer.ErrDrainTimeout) {
					t.Error(err)
				}
			case <-time.After(wide):
				t.Errorf("it has not ended %v after the stop, with a drain of %v; later it did with %v", wide, limit, <-done)
			}
		})
	}
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
