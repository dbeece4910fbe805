package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/internal/devstack"
	"rivulet/internal/replay"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/test/expect"
)

// described is a sealed artifact of all models whose predictions can be represented and abstain.
func described(t *testing.T) *artifact.Bundle {
	t.Helper()
	b := artifacttest.Several(9, artifacttest.Size{Nodes: 40, Synthetic: 6, Features: 5, Classes: 3})
	b.Models[0].Features = artifacttest.Features(b)
	for k := range b.Manifest.Models {
		b.Manifest.Models[k].Calibration.Confidence = artifacttest.Confidence()
	}
	expect.OK(t, b.Seal())
	return b
}

// newcomers are arrivals with edges to nodes of a bundle, and their batch attached to S by hand.
func newcomers(b *artifact.Bundle, n int) ([]event.Arrival, *attach.Batch) {
	arrivals, rows := make([]event.Arrival, n), make([][]attach.Row, n)
	x := graph.NewDense(n, b.Manifest.Data.Features)
	for i := range arrivals {
		for k := range x.Row(i) {
			x.Row(i)[k] = float32((3*i+2*k)%7) / 4
		}
		arrivals[i] = event.Arrival{ID: fmt.Sprintf("new-%d", i), Features: event.Features{Values: x.Row(i)}}
		for j := i; j < 3*i; j += 2 {
			arrivals[i].Edges = append(arrivals[i].Edges, b.Mapping.IDs[j])
			cols, vals := b.Mapping.Rows.Row(j)
			rows[i] = append(rows[i], attach.Row{Known: true, Cols: cols, Vals: vals})
		}
	}
	r, known := attach.Attach(rows, b.Manifest.SyntheticNodes)
	return arrivals, &attach.Batch{X: graph.Features{Dense: x}, R: r, Known: known}
}

// From an artifact in Redis and arrivals in Kafka to predictions in Kafka: each carries the embedding that the
// numeric core computes of that arrival, bit for bit, and says whether it abstains.
func TestEmbeddingsReachTheTopicOfPredictions(t *testing.T) {
	b := described(t)
	arrivals, batch := newcomers(b, 9)
	cfg := stackOf(t, b)
	cfg.Output.Representation, cfg.Output.Coverage, cfg.Output.TopK = serving.RepresentEmbedding, 0.625, 1
	published := stream(t, cfg, arrivals)

	want := artifacttest.Model(b, 0).FrozenFeatures(b.Models[0].Features, &b.Preprocess).Embeddings(batch)
	answered := 0
	for i, p := range published {
		if diff := cmp.Diff(want.Row(i), p.Representation); diff != "" ||
			p.RepresentationKind != event.RepresentationEmbedding {
			t.Errorf("%s: representation %q (-computed +published):\n%s", p.ID, p.RepresentationKind, diff)
		}
		if p.Abstained != (p.Probability < 0.75) { // the curve between 0.9 at 0.5 and 0.6 at 0.75
			t.Errorf("%s of probability %v abstains: %t at threshold 0.75", p.ID, p.Probability, p.Abstained)
		}
		if !p.Abstained {
			answered++
		}
	}
	if answered == 0 || answered == len(published) {
		t.Errorf("%d of %d are answered, the test wants some that are and some that are not", answered, len(published))
	}
}

// brokerOf starts an embedded Kafka, with a topic of labels, and gives a consumer's settings for it.
func brokerOf(t *testing.T) config.Consumer {
	t.Helper()
	cfg := config.Default[config.Consumer]()
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{
		cfg.Kafka.Topics.Arrivals: 1, cfg.Kafka.Topics.Predictions: 1, cfg.Kafka.Topics.DeadLetters: 1, "labels": 1,
		"tried": 1}})
	expect.OK(t, err)
	t.Cleanup(broker.Close)
	cfg.Kafka.Brokers.Brokers, cfg.HTTP.Listen = broker.Addrs(), ""
	return cfg
}

// stackOf starts an embedded Redis with a bundle in it and an embedded Kafka, and gives a consumer's settings for both.
func stackOf(t *testing.T, b *artifact.Bundle) config.Consumer {
	t.Helper()
	cfg := brokerOf(t)
	redis, err := devstack.StartRedis()
	expect.OK(t, err)
	t.Cleanup(redis.Close)
	cfg.Redis.URL = config.RedisURL(redis.URL())
	client, err := connect.Redis(cfg.Redis.RedisServer)
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	publisher, err := serving.NewPublisher(client, cfg.Redis.Prefix)
	expect.OK(t, err)
	expect.OK(t, publisher.Publish(t.Context(), b, serving.PublishOptions{}))
	return cfg
}

// stream runs a consumer over arrivals and returns their predictions.
func stream(t *testing.T, cfg config.Consumer, arrivals []event.Arrival) []event.Prediction {
	t.Helper()
	return streamUntil(t, cfg, arrivals, len(arrivals))
}

// sendTo publishes arrivals.
func sendTo(t *testing.T, cfg config.Consumer, arrivals []event.Arrival) {
	t.Helper()
	client, err := connect.Kafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Arrivals)
	expect.OK(t, err)
	defer client.Close()
	topic, err := replay.NewTopic(client, cfg.Kafka.Topics.Arrivals, "", slog.New(slog.DiscardHandler))
	expect.OK(t, err)
	expect.OK(t, topic.Send(t.Context(), arrivals))
}

// streamUntil is stream until the topic has so many predictions, and returns all of them.
func streamUntil(t *testing.T, cfg config.Consumer, arrivals []event.Arrival, total int) []event.Prediction {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sendTo(t, cfg, arrivals)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- Consumer(running, cfg, log, nil) }()
	r, err := kgo.NewClient(kgo.SeedBrokers(cfg.Kafka.Brokers.Brokers...), kgo.ConsumeTopics(cfg.Kafka.Topics.Predictions),
		kgo.FetchMaxWait(50*time.Millisecond))
	expect.OK(t, err)
	defer r.Close()
	var published []event.Prediction
	var errs []error
	for len(published) < total && len(errs) == 0 {
		fetches := r.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			errs = append(errs, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			var p event.Prediction
			if err := (json.Codec{}).DecodePrediction(r.Value, &p); err != nil {
				errs = append(errs, err)
			}
			published = append(published, p)
		})
	}
	stop()
	expect.OK(t, errors.Join(append(errs, <-done)...))
	return published
}

// Without services the same: every model and attachment, read from a directory.
func TestLinesCarryEmbeddings(t *testing.T) {
	b := described(t)
	dir := filepath.Join(t.TempDir(), "a")
	expect.OK(t, artifact.Write(dir, b))
	arrivals, batch := newcomers(b, 7)
	var in bytes.Buffer
	expect.OK(t, (&replay.Lines{W: &in}).Send(t.Context(), arrivals))
	for _, made := range b.Models {
		model, err := infer.Build(made.Name, made.Params)
		expect.OK(t, err)
		for _, attachment := range []string{artifact.AttachFrozen, artifact.AttachJoint} {
			deployed := model.Joint(b.Synthetic.Adj, preprocess.Ready(b.Synthetic.X), &b.Preprocess)
			if attachment == artifact.AttachFrozen {
				deployed = model.Frozen(made.Tables, &b.Preprocess)
			}
			embedder, ok := deployed.(infer.Embedder)
			if !ok {
				embedder = model.FrozenFeatures(made.Features, &b.Preprocess)
			}
			from, err := Pinned(t.Context(), dir, serving.Options{Model: made.Name, Attachment: attachment,
				Representation: serving.RepresentEmbedding},
				slog.New(slog.DiscardHandler))
			expect.OK(t, err)
			var out bytes.Buffer
			_, _, err = PredictLines(t.Context(), from, strings.NewReader(in.String()), &out,
				LineOptions{Mode: attach.Node, Batch: len(arrivals),
					Output: consumer.Output{Representation: event.RepresentationEmbedding}})
			expect.OK(t, err)
			want, i := embedder.Embeddings(batch), 0
			for line := range bytes.Lines(out.Bytes()) {
				var p event.Prediction
				expect.OK(t, (json.Codec{}).DecodePrediction(line, &p))
				if !slices.Equal(want.Row(i), p.Representation) || p.Abstained {
					t.Errorf("%s, %s: %s has %v, want %v; abstained is %t", made.Name, attachment, p.ID, p.Representation, want.Row(i),
						p.Abstained)
				}
				i++
			}
			if i != len(arrivals) {
				t.Errorf("%s, %s: %d predictions", made.Name, attachment, i)
			}
		}
	}
}
