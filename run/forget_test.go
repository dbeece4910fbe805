package run

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/run/connect"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// G8: From Kafka to Kafka, by both ways to deliver: an id that three kinds of records ask to forget leaves Redis, the
// store of features among it, and an arrival that comes later and names it finds nobody.
func TestForgottenIDsLeaveNothing(t *testing.T) {
	for _, delivery := range []string{config.AtLeastOnce, config.ExactlyOnce} {
		t.Run(delivery, func(t *testing.T) {
			b := growing(t, 9)
			cfg := stackOf(t, b)
			cfg.Delivery, cfg.Attach.Arrivals, cfg.Input.Forget = delivery, config.On, config.On
			cfg.Features.From = config.FromRedis
			client, err := connect.Redis(cfg.Redis.RedisServer)
			expect.OK(t, err)
			defer func() { _ = client.Close() }()
			arrivals, _ := newcomers(b, 4)
			for i := range arrivals {
				arrivals[i].ID = fmt.Sprintf("secret-%d", i)
				err := client.Set(t.Context(), cfg.Features.Prefix+arrivals[i].ID, "[1,2,3,4,5]", 0).Err()
				expect.OK(t, err)
			}
			arrivals[3].ID = "stays"
			if p := stream(t, cfg, arrivals); len(p) != 4 {
				t.Fatal(p)
			}
			if text := dump(t, client); strings.Count(text, "secret-") != 3+4 {
				t.Fatalf("before anything is forgotten Redis has\n%s", text)
			}
			next, _ := newcomers(b, 1)
			record := func(id string, edges ...string) *kgo.Record {
				next[0].ID, next[0].Edges = id, edges
				value, err := json.Codec{}.AppendArrival(nil, &next[0])
				expect.OK(t, err)
				return &kgo.Record{Key: []byte(id), Value: value}
			}
			forgotten := &counts{}
			relay(t, cfg, forgotten, 4+1, kgo.KeyStringRecord("secret-0", ""),
				kgo.KeyStringRecord("secret-1", `{"id": "secret-1", "forget": true}`),
				kgo.KeyStringRecord("secret-2", `{"id": "secret-2", "forget": true}`),
				kgo.KeyStringRecord("nobody", ""), record("behind"))
			published := relay(t, cfg, &counts{}, 4+1+1, record("next", "secret-0", "secret-1", "secret-2", "stays"))
			var p event.Prediction
			if err := (json.Codec{}).DecodePrediction(published[5].Value, &p); err != nil || p.ID != "next" ||
				p.Arrivals != 1 || p.Unknown != 3 {
				t.Errorf("%s next to %d arrivals and %d unknown ids: %v", p.ID, p.Arrivals, p.Unknown, err)
			}
			if forgotten.asked != 4 || forgotten.known != 3 {
				t.Errorf("%d of %d were known", forgotten.known, forgotten.asked)
			}
			if text := dump(t, client); strings.Contains(strings.ReplaceAll(text, "features:secret-3", ""), "secret-") ||
				!strings.Contains(text, "stays") {
				t.Errorf("Redis has\n%s", text)
			}
		})
	}
}

// counts adds up what was forgotten.
type counts struct {
	consumer.NopObserver
	asked, known int
}

func (c *counts) Batch(s consumer.BatchStats) {
	c.asked, c.known = c.asked+s.Forgets, c.known+s.Forgotten
}

// dump returns all that a Redis has, as text.
func dump(t *testing.T, client redis.Cmdable) string {
	t.Helper()
	keys, err := harness.Keys(t.Context(), client, "*")
	expect.OK(t, err)
	var all strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&all, key, client.Get(t.Context(), key).Val(), client.HGetAll(t.Context(), key).Val())
	}
	return all.String()
}

// relay runs a consumer over records until the topic of predictions has so many records, which it returns.
func relay(t *testing.T, cfg config.Consumer, also consumer.Observer, total int,
	records ...*kgo.Record) (published []*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...), kgo.ConsumeTopics(cfg.Kafka.Topics.Predictions),
		kgo.DefaultProduceTopic(cfg.Kafka.Topics.Arrivals), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	expect.OK(t, err)
	defer c.Close()
	for _, r := range records {
		if len(r.Value) == 0 {
			r.Value = nil
		}
		expect.OK(t, c.ProduceSync(ctx, r).FirstErr())
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- Consumer(running, cfg, slog.New(slog.DiscardHandler), also) }()
	for len(published) < total && ctx.Err() == nil {
		c.PollFetches(ctx).EachRecord(func(r *kgo.Record) { published = append(published, r) })
	}
	stop()
	if err := <-done; err != nil || len(published) != total {
		t.Fatalf("%d records are published, want %d: %v", len(published), total, err)
	}
	return published
}
