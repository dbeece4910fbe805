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
	"rivulet/infer/attach"
	"rivulet/infer/propagation"
	"rivulet/internal/cli"
	"rivulet/internal/devstack"
	"rivulet/internal/replay"
	"rivulet/mapping"
	"rivulet/run/connect"
	"rivulet/serving"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// Options of a demo.
type Options struct {
	Train     trainer.Options
	Artifact  *artifact.Bundle // sealed, of the same data: it is served instead of training one; nil: train
	Model     string           // of Artifact, to be served; empty: its default
	Mode      *attach.Mode     // of the stream's batches
	Batch     int              // the most arrivals of a micro-batch
	Rate      float64          // arrivals a second; 0: as fast as Kafka takes them
	LaterRate float64          // of the arrivals that Page sends after the stream; 0: 20 a second
	Progress  *cli.Lines
	Log       *slog.Logger
}

const (
	partitions = 4                    // of each topic
	linger     = 5 * time.Millisecond // for which the first arrival of a micro-batch waits for others
	easyTime   = 3 * time.Second      // of a stream that is sent at its [EasyRate]
)

// EasyRate is the rate in arrivals a second at which a data set's test nodes arrive within three seconds. Two cores
// answer several times as many of any preset, so an arrival waits for a batch and not for the arrivals before it.
func EasyRate(d *dataset.Dataset) float64 { return float64(len(d.Test)) / easyTime.Seconds() }

// Run does the whole job: train or take the artifact, publish, stream, compare.
func Run(ctx context.Context, d *dataset.Dataset, o Options) (*Report, error) {
	outcome, err := prepare(ctx, d, o)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, outcome.Bundle, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	t := newTally(d, time.Now)
	if err := s.stream(ctx, replay.TestNodes(d), t, o); err != nil {
		return nil, err
	}
	return compare(d, outcome, t, o)
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

// stack holds the embedded services, and the consumer's settings for them.
type stack struct {
	kafka    *devstack.Kafka
	redis    *devstack.Redis
	consumer config.Consumer
}

// start starts the services, and publishes an artifact to Redis as trainer publish does.
func start(ctx context.Context, b *artifact.Bundle, o Options) (*stack, error) {
	cfg := config.Default[config.Consumer]()
	cfg.Batch = config.Batch{BatchMode: config.BatchMode{Mode: o.Mode.Name}, Size: o.Batch, Linger: linger}
	cfg.HTTP.Listen = ""
	cfg.Model = o.Model
	redis, err := devstack.StartRedis()
	if err != nil {
		return nil, err
	}
	kafka, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{
		cfg.Kafka.Topics.Arrivals: partitions, cfg.Kafka.Topics.Predictions: partitions, cfg.Kafka.Topics.DeadLetters: 1}})
	if err != nil {
		redis.Close()
		return nil, err
	}
	cfg.Kafka.Brokers.Brokers = kafka.Addrs()
	cfg.Redis.URL = config.RedisURL(redis.URL())
	s := &stack{kafka, redis, cfg}
	publishing := serving.PublishOptions{Progress: func(done, total int) {
		o.Progress.Step("publishing rows of M", done, total)
	}}
	if err := connect.WithPublisher(cfg.Redis.RedisServer, func(p *serving.Publisher) error {
		return p.Publish(ctx, b, publishing)
	}); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stack) close() {
	s.kafka.Close()
	s.redis.Close()
}

// compare sets the stream beside the trainer's figures. In graph mode it evaluates the micro-batches that the stream
// formed.
func compare(d *dataset.Dataset, outcome *trainer.Outcome, t *tally, o Options) (*Report, error) {
	m := outcome.Bundle.Manifest
	r := &Report{Dataset: m.Data.Name, Mode: o.Mode.Name, Nodes: m.Data.Nodes, SyntheticNodes: m.SyntheticNodes,
		Delivery: t.delivery(len(d.Test), o.Rate), Accuracy: t.accuracy(), TrainSeconds: outcome.Seconds,
		ArtifactVersion: m.Version, Seed: m.Seed}
	if o.Mode.Repeatable() && o.Artifact == nil {
		calibration := m.Models[0].Calibration.Kind
		r.AccuracyWhole, r.WholeBatch = wholeOf(outcome.Results, o.Train.Batch)
		r.AccuracyOffline = accuracyOf(outcome.Results, eval.OtoS, calibration)
		return r, nil
	}
	of := *outcome.Bundle
	if o.Model != "" {
		of.Manifest.DefaultModel = o.Model
	}
	batches := t.batches(d)
	if o.Mode.Repeatable() {
		r.WholeBatch = o.Train.Batch
		batches = dataset.Batches(d.Test, r.WholeBatch) // as the trainer measures the whole graph
	}
	var err error
	r.AccuracyWhole, r.AccuracyOffline, err = offline(d, &of, batches, o.Mode)
	if err != nil {
		return nil, fmt.Errorf("comparing with the whole graph: %w", err)
	}
	return r, nil
}

// offline measures an artifact's default model on batches of nodes, joined to the whole graph and as it serves.
func offline(d *dataset.Dataset, b *artifact.Bundle, batches [][]int32, mode *attach.Mode) (whole, onS float64,
	err error) {
	served, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), serving.Options{})
	if err != nil {
		return 0, 0, err
	}
	return eval.Compare(d, b, batches, mode, served, served.Info().Slots)
}

// wholeOf returns the accuracy on the whole graph and how many arrivals were joined to it at a time: 1, if every test
// node was measured so.
func wholeOf(results []eval.Result, batch int) (accuracy float64, joined int) {
	for _, r := range results {
		if r.Alone != nil && r.Alone.Nodes == r.Alone.Of {
			return r.Alone.Whole, 1
		}
	}
	return accuracyOf(results, eval.OtoO, propagation.None), batch
}

// accuracyOf returns a figure for node batches.
func accuracyOf(results []eval.Result, setting, calibration string) float64 {
	for _, r := range results {
		if r.Setting == setting && !r.SharedM && r.Batch == trainer.NodeBatch && r.Calibration == calibration {
			return r.Score("accuracy").Mean
		}
	}
	return 0
}
