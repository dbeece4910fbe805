package demo

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/infer/propagation"
	"rivulet/internal/app"
	"rivulet/internal/cli"
	"rivulet/internal/devstack"
	"rivulet/internal/replay"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// Options of a demo.
type Options struct {
	Train      trainer.Options
	Artifact   *artifact.Bundle // sealed, of the same data: it is served instead of training one; nil: train
	Model      string           // of Artifact, to be served; empty: its default
	Mode       string           // config.ModeNode or config.ModeGraph
	Batch      int              // arrivals of a micro-batch
	Linger     time.Duration
	Rate       float64 // arrivals a second; 0: as fast as Kafka takes them
	LaterRate  float64 // of the arrivals that Page sends after the stream; 0: 20 a second
	Partitions int     // per topic
	Labels     bool    // publish the class of each arrival once its prediction was read, and have the consumer compare
	Progress   *cli.Lines
	Log        *slog.Logger
}

// patience is how long the stream may stand still before missing arrivals count as lost.
const patience = 30 * time.Second

// chunk is the largest number of arrivals sent at once. Small chunks keep the clock of an arrival close to its
// sending.
const chunk = 250

// streamed is how long a stream takes that is sent at its [EasyRate].
const streamed = 3 * time.Second

// EasyRate is the rate in arrivals a second at which a data set's test nodes arrive within three seconds. Two cores
// answer several times as many of any preset, so an arrival waits for a batch and not for the arrivals before it.
func EasyRate(d *dataset.Dataset) float64 { return float64(len(d.Test)) / streamed.Seconds() }

// Run does the whole job: train or take the artifact, publish, stream, compare.
func Run(ctx context.Context, d *dataset.Dataset, o Options) (*Report, error) {
	outcome, err := prepare(ctx, d, o)
	if err != nil {
		return nil, err
	}
	bundle := outcome.Bundle
	stack, cfg, err := start(o)
	if err != nil {
		return nil, err
	}
	defer stack.close()
	if err := publish(ctx, cfg.Redis.RedisServer, bundle, o.Progress); err != nil {
		return nil, err
	}
	t := newTally(d, time.Now)
	if err := stream(ctx, d, cfg, t, o); err != nil {
		return nil, err
	}
	return report(d, outcome, t, o)
}

// prepare trains an artifact, or checks that the given one is of these data.
func prepare(ctx context.Context, d *dataset.Dataset, o Options) (*trainer.Outcome, error) {
	if o.Artifact == nil {
		outcome, err := trainer.Train(ctx, d, o.Train, time.Now(), o.Progress)
		if err != nil {
			return nil, err
		}
		return outcome, outcome.Bundle.Seal()
	}
	m := &o.Artifact.Manifest
	if got := d.Fingerprint(); got != m.Data.Fingerprint {
		return nil, fmt.Errorf("artifact %s is of other data: %s with fingerprint %s; these are %s with %s",
			m.Version, m.Data.Name, m.Data.Fingerprint, d.Name, got)
	}
	if o.Model != "" && !slices.ContainsFunc(m.Models, func(of artifact.ModelInfo) bool { return of.Name == o.Model }) {
		return nil, fmt.Errorf("artifact %s has no model %q", m.Version, o.Model)
	}
	return &trainer.Outcome{Bundle: o.Artifact}, nil
}

// stack holds the embedded services.
type stack struct {
	kafka *devstack.Kafka
	redis *devstack.Redis
}

func (s *stack) close() {
	s.kafka.Close()
	s.redis.Close()
}

// start starts the services and returns the consumer's settings for them.
func start(o Options) (*stack, config.Consumer, error) {
	cfg := config.Default[config.Consumer]()
	cfg.Batch = config.Batch{BatchMode: config.BatchMode{Mode: o.Mode}, Size: o.Batch, Linger: o.Linger}
	cfg.HTTP.Listen = ""
	cfg.Model = o.Model
	redis, err := devstack.StartRedis()
	if err != nil {
		return nil, cfg, err
	}
	topics := map[string]int{cfg.Kafka.Topics.Arrivals: o.Partitions, cfg.Kafka.Topics.Predictions: o.Partitions,
		cfg.Kafka.Topics.DeadLetters: 1}
	if o.Labels {
		cfg.Labels.Topic, topics[labelsTopic] = labelsTopic, o.Partitions
	}
	kafka, err := devstack.StartKafka(devstack.KafkaOptions{Topics: topics})
	if err != nil {
		redis.Close()
		return nil, cfg, err
	}
	cfg.Kafka.Brokers.Brokers = kafka.Addrs()
	cfg.Redis.URL = config.RedisURL(redis.URL())
	return &stack{kafka, redis}, cfg, nil
}

// publish publishes the artifact to Redis, as trainer publish does.
func publish(ctx context.Context, settings config.RedisServer, b *artifact.Bundle, lines *cli.Lines) error {
	return app.WithPublisher(settings, func(p *serving.Publisher) error {
		return p.Publish(ctx, b,
			serving.PublishOptions{Progress: func(done, total int) { lines.Step("publishing rows of M", done, total) }})
	})
}

// stream replays the test nodes through a consumer.
func stream(ctx context.Context, d *dataset.Dataset, cfg config.Consumer, t *tally, o Options) error {
	f := &feed{cfg: cfg, tally: t, stream: replay.TestNodes(d), read: t.read, line: t.line}
	if o.Labels {
		t.labeller = newLabeller(t.labels, t.now)
		f.cfg.Labels.Remember = max(f.cfg.Labels.Remember, len(d.Test))
		f.read = func(p *event.Prediction) {
			t.read(p)
			t.labeller.predicted(p.ID)
		}
		f.live = true
		f.beside = append(f.beside, func(ctx context.Context) error { return t.labeller.run(ctx, cfg.Kafka.Brokers, o.Log) })
	}
	return f.run(ctx, o)
}

// report compares the stream with the trainer's figures.
func report(d *dataset.Dataset, outcome *trainer.Outcome, t *tally, o Options) (*Report, error) {
	m := outcome.Bundle.Manifest
	r := t.report(len(d.Test))
	r.Dataset, r.Mode, r.Nodes, r.SyntheticNodes, r.Rate = m.Data.Name, o.Mode, m.Data.Nodes, m.SyntheticNodes, o.Rate
	r.TrainSeconds, r.ArtifactVersion, r.Seed = outcome.Seconds, m.Version, m.Seed
	if o.Mode == config.ModeNode && o.Artifact == nil { // a prediction does not depend on its batch
		calibration := m.Models[0].Calibration.Kind
		r.AccuracyWhole = accuracyOf(outcome.Results, eval.OtoO, propagation.None)
		r.AccuracyOffline = accuracyOf(outcome.Results, eval.OtoS, calibration)
		return r, nil
	}
	of := *outcome.Bundle
	if o.Model != "" {
		of.Manifest.DefaultModel = o.Model
	}
	served, _, err := serving.New(&of, mapping.FromArtifact(of.Mapping), serving.Options{})
	if err != nil {
		return nil, err
	}
	batches := t.batches(d)
	if o.Mode == config.ModeNode {
		batches = dataset.Batches(d.Test, o.Train.Batch) // as the trainer measures Whole
	}
	r.AccuracyWhole, r.AccuracyOffline, err = eval.Compare(d, &of, batches, o.Mode == config.ModeGraph, served,
		served.Bins())
	if err != nil {
		return nil, fmt.Errorf("comparing with Whole: %w", err)
	}
	return r, nil
}

// accuracyOf returns a figure for node batches.
func accuracyOf(results []eval.Result, setting, calibration string) float64 {
	for _, r := range results {
		if r.Setting == setting && !r.SharedM && r.Batch == trainer.NodeBatch && r.Calibration == calibration {
			return r.Accuracy.Mean
		}
	}
	return 0
}
