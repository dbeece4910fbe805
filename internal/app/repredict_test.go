package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/config"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// again predicts again to a file, and returns the predictions and the counts.
func again(t *testing.T, cfg config.Consumer, o RepredictOptions) ([]event.Prediction, Counts) {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	o.Rejected = func(d *event.DeadLetter) { t.Errorf("%s: %s", d.Reason, d.Detail) }
	counts, err := Repredict(t.Context(), cfg, o, slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	var all []event.Prediction
	for line := range bytes.Lines(out.Bytes()) {
		var p event.Prediction
		expect.OK(t, (json.Codec{}).DecodePrediction(line, &p))
		all = append(all, p)
	}
	return all, counts
}

// The same version predicts again what was published, bit for bit, by both ways to deliver and whatever the batches, as
// long as the rows of arrivals are there; the group's offsets stay.
func TestRepredictedBitsArePublishedBits(t *testing.T) {
	same := cmpopts.IgnoreFields(event.Prediction{}, "PredictedTime", "Batch")
	for _, delivery := range []string{config.AtLeastOnce, config.ExactlyOnce} {
		t.Run(delivery, func(t *testing.T) {
			b := growing(t, 9)
			cfg := stackOf(t, b)
			cfg.Delivery, cfg.Attach.Arrivals, cfg.Output.Logits, cfg.Batch.Size = delivery, config.On, true, 3
			first, _ := newcomers(b, 7)
			_ = stream(t, cfg, first)
			second, _ := newcomers(b, 5)
			for i := range second {
				second[i].ID = fmt.Sprintf("late-%d", i)
				second[i].Edges = append(second[i].Edges, first[i].ID, "nobody")
			}
			all := len(first) + len(second)
			published := streamUntil(t, cfg, second, all)
			before := committed(t, cfg)
			cfg.Batch.Size = 4
			got, counts := again(t, cfg, RepredictOptions{From: time.Unix(0, 0), Version: b.Manifest.Version})
			if diff := cmp.Diff(published, got, same); diff != "" {
				t.Errorf("predicted again (-published +again):\n%s", diff)
			}
			if counts != (Counts{Predicted: all}) {
				t.Errorf("counts %+v", counts)
			}
			if after := committed(t, cfg); !cmp.Equal(before, after) {
				t.Errorf("offsets %v, before %v", after, before)
			}
			if got, _ := again(t, cfg, RepredictOptions{From: time.Unix(0, 0), To: time.Unix(9, 0)}); len(got) != 0 {
				t.Errorf("%d predictions of a time in which nothing came", len(got))
			}
			// Without its neighbour's row, and without its own, an arrival is marked.
			client, err := ConnectRedis(cfg.Redis.RedisServer)
			expect.OK(t, err)
			defer func() { _ = client.Close() }()
			keys, err := harness.Keys(t.Context(), client, cfg.Redis.Prefix+":*:arrivals:*")
			expect.OK(t, err)
			for _, key := range keys {
				client.HDel(t.Context(), key, first[2].ID, second[0].ID)
			}
			got, counts = again(t, cfg, RepredictOptions{From: time.Unix(0, 0)})
			var degraded []string
			for i, p := range got {
				if p.Degraded {
					degraded = append(degraded, p.ID)
				} else if diff := cmp.Diff(published[i], p, same); diff != "" {
					t.Errorf("%s (-published +again):\n%s", p.ID, diff)
				}
			}
			if !cmp.Equal(degraded, []string{"late-0", "late-2"}) || counts.Degraded != 2 {
				t.Errorf("degraded are %v, counts %+v", degraded, counts)
			}
		})
	}
}

// committed returns the group's offset.
func committed(t *testing.T, cfg config.Consumer) string {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...))
	expect.OK(t, err)
	defer c.Close()
	offsets, err := kadm.NewClient(c).FetchOffsets(t.Context(), cfg.Kafka.Group)
	if err != nil || len(offsets) == 0 {
		t.Fatalf("%v: %v", offsets, err)
	}
	at, _ := offsets.Lookup(cfg.Kafka.Topics.Arrivals, 0)
	return fmt.Sprint(at.At, at.Metadata)
}

// Predictions of another version go to a topic of their own, under the arrivals' keys, and no dead letters anywhere.
func TestRepredictToATopic(t *testing.T) {
	b := growing(t, 9)
	cfg := stackOf(t, b)
	arrivals, _ := newcomers(b, 3)
	_ = stream(t, cfg, arrivals)
	arrivals[0].Features.Values = arrivals[0].Features.Values[:2] // a dead letter
	sendTo(t, cfg, arrivals[:1])
	c, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...), kgo.ConsumeTopics("again"))
	expect.OK(t, err)
	defer c.Close()
	if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 1, 1, nil, "again"); err != nil {
		t.Fatal(err)
	}
	refused, done := "", 0
	cfg.Model = "gcn"
	counts, err := Repredict(t.Context(), cfg, RepredictOptions{From: time.Now().Add(-time.Hour), Topic: "again",
		Rejected: func(d *event.DeadLetter) { refused += d.Reason },
		Progress: func(_ string, n, total int) { done = n*100 + total }},
		slog.New(slog.DiscardHandler))
	if err != nil || counts != (Counts{Predicted: 3, Rejected: 1}) || refused != event.ReasonFeatureLength || done != 404 {
		t.Errorf("counts %+v, refused %q, %d done: %v", counts, refused, done, err)
	}
	var keys []string
	for len(keys) < 3 {
		c.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { keys = append(keys, string(r.Key)) })
	}
	if !cmp.Equal(keys, []string{arrivals[0].ID, arrivals[1].ID, arrivals[2].ID}) {
		t.Errorf("keys %v", keys)
	}
}

// If Redis goes away in the middle, repredict reports it and waits. Its predictions have the bits of the first ones.
func TestRepredictWaitsForRedis(t *testing.T) {
	same := cmpopts.IgnoreFields(event.Prediction{}, "PredictedTime", "Batch")
	b := growing(t, 9)
	cfg := stackOf(t, b)
	cfg.Attach.Arrivals, cfg.Output.Logits, cfg.Batch.Size = config.On, true, 2
	arrivals, _ := newcomers(b, 7)
	published := stream(t, cfg, arrivals)
	proxy, err := harness.NewProxy(t.Context())
	expect.OK(t, err)
	defer proxy.Close()
	go proxy.Serve(t.Context(), strings.TrimPrefix(string(cfg.Redis.URL), "redis://"))
	cfg.Redis.URL = config.RedisURL("redis://" + proxy.Addr())
	waited := 0
	got, counts := again(t, cfg, RepredictOptions{From: time.Unix(0, 0), Version: b.Manifest.Version,
		Progress: func(doing string, done, total int) {
			switch {
			case doing == repredicting && done == 4:
				proxy.Set(harness.Refused)
			case doing == waitsForRows && done == 4 && total == 7:
				if waited++; waited == 3 {
					proxy.Set(harness.Passing)
				}
			case doing == waitsForRows:
				t.Errorf("%d of %d are done while it waits", done, total)
			}
		}})
	if diff := cmp.Diff(published, got, same); diff != "" || waited < 3 || counts != (Counts{Predicted: 7}) {
		t.Errorf("waited %d times, counts %+v, predicted again (-published +again):\n%s", waited, counts, diff)
	}
}
