package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/consumer/schemas"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/internal/build"
	"rivulet/internal/observe"
	"rivulet/internal/registry"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
	"rivulet/serving"
)

// Insider is an observer that is also told of events inside [RunConsumer].
type Insider interface {
	consumer.Observer
	// Inside is called once, before anything is read: metrics are the consumer's, version names the artifact that is
	// served now, "" before the first.
	Inside(metrics *observe.Observer, version func() string)
	// FollowsLabels is called when reading the topic of labels begins: labels published from then on count.
	FollowsLabels()
}

// RunConsumer runs the service until ctx ends, then drains: the consumers of all pipelines first, whose batches still
// need a version, then the services behind them. If one of several pipelines fails, all end. also, where not nil,
// observes the same events as the metrics, and more if it is an [Insider]. It returns nil after a drain.
// docs/operate.md explains the lines of the log.
func RunConsumer(ctx context.Context, cfg config.Consumer, log *slog.Logger, also consumer.Observer) error {
	b := build.Read()
	log.Info("the consumer starts", "version", b.Version, "commit", b.Commit, "go", b.Go)
	logSettings(log, cfg)
	settings, err := config.Pipelines(cfg)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	of := make([]*pipeline, len(settings))
	for k, s := range settings {
		of[k] = &pipeline{cfg: s.Settings, name: s.Name, log: log, background: &services{}}
		if s.Name != "" {
			of[k].log = log.With("pipeline", s.Name)
			logChanged(of[k].log, cfg, s.Settings)
		}
		of[k].journal = observe.NewJournal(of[k].log, nil)
	}
	drained := announceDrain(ctx, cfg.Shutdown.DrainTimeout, log)
	errs := runPipelines(ctx, running, cfg, of, log, also, cancel)
	drained()
	for k, p := range of {
		if errors.Is(errs[k], consumer.ErrDrainTimeout) { // the rest only names the work that was cut off
			errs[k] = fmt.Errorf("%w: what was in hand after %s is not committed, and is read again",
				consumer.ErrDrainTimeout, cfg.Shutdown.DrainTimeout)
		}
		if errs[k] != nil && p.name != "" {
			errs[k] = fmt.Errorf("pipeline %s: %w", p.name, errs[k])
		}
		p.journal.Summary(errs[k])
	}
	return errors.Join(errs...)
}

// announceDrain logs when ctx ends, and why. The caller calls ended when the drain is over, or never began.
func announceDrain(ctx context.Context, limit time.Duration, log *slog.Logger) (ended func()) {
	begun := make(chan time.Time, 1)
	stop := context.AfterFunc(ctx, func() {
		log.Info("drain begins: what is in hand is finished", "reason", context.Cause(ctx), "limit", limit)
		begun <- time.Now()
	})
	return func() {
		if !stop() {
			log.Info("drain ended", "took", time.Since(<-begun).Round(time.Millisecond))
		}
	}
}

// runPipelines opens all pipelines, serves their metrics and health, and runs them until running ends. It returns the
// error of each.
func runPipelines(ctx, running context.Context, cfg config.Consumer, of []*pipeline, log *slog.Logger,
	also consumer.Observer, cancel context.CancelCauseFunc) []error {
	errs := make([]error, len(of))
	shared := &services{}
	failed := func(err error) []error {
		if err != nil {
			errs[0] = errors.Join(err, errs[0])
		}
		return errs
	}
	metrics, observers := observe.NewRegistry(), make([]*observe.Observer, len(of))
	defer func() {
		for _, p := range slices.Backward(of) {
			p.close()
		}
	}()
	for k, p := range of {
		if errs[k] = p.open(ctx, metrics, also, cancel); errs[k] != nil || ctx.Err() != nil {
			return errs
		}
		observers[k] = p.observer
	}
	defer shared.end()
	if err := shared.startDebug(ctx, cfg.Debug, config.Shown(cfg), log); err != nil {
		return failed(err)
	}
	if cfg.HTTP.Listen != "" {
		listener, err := observe.Listen(ctx, cfg.HTTP.Listen)
		if err != nil {
			return failed(err)
		}
		log.Info("listening for metrics and health", "address", listener.Addr().String())
		shared.startVital(ctx, cancel, func(ctx context.Context) error {
			return observe.Serve(ctx, listener, cfg.HTTP.Hosts, observers...)
		})
	}
	var wait sync.WaitGroup
	for k, p := range of {
		wait.Go(func() {
			if errs[k] = p.run(running); errs[k] != nil {
				cancel(errs[k]) // nobody runs without the others
			}
		})
	}
	wait.Wait()
	shared.end()
	return failed(shared.failed)
}

// pipeline is one stream of arrivals, with the services that run beside it.
type pipeline struct {
	cfg        config.Consumer
	name       string // "" if there is only one
	log        *slog.Logger
	journal    *observe.Journal
	background *services
	closers    []func() // in the order in which things were opened

	observer *observe.Observer
	told     consumer.Observer // of all events
	framed   *registry.Output  // nil: predictions are not in the registry's form
	consumer *consumer.Consumer
}

// close stops the services that open started.
func (p *pipeline) close() {
	p.background.end() // first: the watcher still releases its versions
	for _, end := range slices.Backward(p.closers) {
		end()
	}
}

// open loads the version that is served, and wires the path of a record and the services beside it. Where ctx ends
// meanwhile it returns nil, and nothing can be run.
func (p *pipeline) open(ctx context.Context, metrics *prometheus.Registry, also consumer.Observer,
	cancel context.CancelCauseFunc) error {
	cfg, log := p.cfg, p.log
	from, end, err := servedVersions(ctx, cfg, consumerACL, log, p.background, cancel)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, end)
	if ctx.Err() != nil {
		return nil
	}
	watched := observe.Options{Version: from.name, Classes: from.classes, Cache: from.cache, Arrivals: from.arrivals,
		Losses: from.losses, Rollbacks: from.rollbacks, Reference: from.reference, Pipeline: p.name, Registry: metrics}
	if cfg.Labels.Topic != "" {
		watched.Labels = &observe.LabelOptions{Remember: cfg.Labels.Remember, TTL: cfg.Labels.TTL}
	}
	forms, known, err := Forms(cfg.Input, cfg.Registry)
	if err != nil {
		return err
	}
	out, framed, err := outputCodec(cfg)
	if err != nil {
		return err
	}
	store, closeStore, err := Features(cfg.Features, cfg.Redis.RedisServer, cfg.Limits)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, closeStore)
	w := wire{from, forms, known, store, out}
	tried, endTrial, err := tryCandidates(cfg, w, log)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, endTrial)
	if tried != nil {
		watched.Candidates = tried.Compared
		p.background.start(ctx, tried.Run)
	}
	p.observer, p.framed = observe.New(watched), framed
	var following func()
	if insider, ok := also.(Insider); ok {
		insider.Inside(p.observer, from.name)
		following = insider.FollowsLabels
	}
	labelled := labelSink(p.observer)
	p.told = both(both(p.observer, p.journal), also)
	if tried != nil {
		p.told, labelled = both(p.told, tried), comparedLabels{p.observer, tried}
	}
	if watcher, ok := from.source.(*serving.Watcher); ok {
		p.told = both(p.told, trial{watcher: watcher})
	}
	c, client, err := newConsumer(cfg, w, log, p.told)
	if err != nil {
		return err
	}
	p.consumer, p.closers = c, append(p.closers, client.Close)
	if cfg.Labels.Topic != "" {
		p.background.startVital(ctx, cancel, func(ctx context.Context) error {
			return followLabels(ctx, cfg, forms.OfLabels(), known, log, labelled, following)
		})
	}
	return nil
}

// run consumes until running ends, and then drains.
func (p *pipeline) run(running context.Context) error {
	err := resolveOutput(running, p.framed, retry.Patience{Observer: p.told, Logger: p.log})
	if err == nil {
		err = adviseKafka(p.consumer.Run(running), p.cfg.Kafka.Brokers)
	} else if running.Err() != nil { // a stop while the registry was away
		err = nil
	}
	p.background.end()
	return advised(errors.Join(err, p.background.failed), consumerACL)
}

// wire is a consumer's input and output: versions, forms, registry.
type wire struct {
	versions consumer.Versions
	forms    form.Reader
	registry schemas.Registry // has the schemas of forms; nil: there is none
	features consumer.FeatureStore
	out      event.Codec
}

// newConsumer wires the path of a record.
func newConsumer(cfg config.Consumer, w wire, log *slog.Logger,
	observer consumer.Observer) (*consumer.Consumer, *kafka.Client, error) {
	topics := cfg.Kafka.Topics
	client, err := ConnectKafka(cfg.Kafka.Brokers, topics.Arrivals, topics.Predictions, topics.DeadLetters)
	if err != nil {
		return nil, nil, err
	}
	deliver, err := newProducer(cfg, client, w.out, retry.Patience{Observer: observer, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	c, err := consumer.New(consumer.Options{
		Kafka: client, Source: sourceOptions(cfg),
		BatchSize: cfg.Batch.Size, BatchBytes: int(cfg.Batch.MaxBytes), BatchLinger: cfg.Batch.Linger,
		Window: window.Options{Wait: cfg.Attach.Wait, Bytes: int(cfg.Attach.WaitBytes),
			DropUnmatched: cfg.Attach.Unmatched == config.Drop},
		DrainTimeout: cfg.Shutdown.DrainTimeout, Fencer: deliver, Registry: w.registry,
		Path: w.path(cfg, deliver, observer), Logger: log,
	})
	return c, client, err
}

// sourceOptions say how the topic of arrivals is read.
func sourceOptions(cfg config.Consumer) kafka.SourceOptions {
	start := kafka.Start(cfg.Kafka.StartOffset)
	if !cfg.Kafka.StartTime().IsZero() {
		start = kafka.AtTime
	}
	return kafka.SourceOptions{Group: cfg.Kafka.Group, Topics: []string{cfg.Kafka.Topics.Arrivals}, Start: start,
		StartTime: cfg.Kafka.StartTime(), FetchBytes: int(cfg.Kafka.Fetch.MaxBytes), FetchWait: cfg.Kafka.Fetch.MaxWait,
		SessionTimeout: cfg.Kafka.SessionTimeout, Heartbeat: cfg.Kafka.HeartbeatInterval, Instance: cfg.Kafka.InstanceID}
}

// path returns the settings of the path of a record.
func (w wire) path(cfg config.Consumer, deliver consumer.Deliverer,
	observer consumer.Observer) consumer.PipelineOptions {
	o := consumer.PipelineOptions{Versions: w.versions, Deliverer: deliver, Mode: consumer.Mode(cfg.Batch.Mode),
		Arrivals: cfg.Attach.Arrivals == config.On, Notes: cfg.Attach.Arrivals == config.On &&
			cfg.Delivery != config.ExactlyOnce,
		Limits: Limits(cfg.Limits), Output: output(cfg.Output), Forms: w.forms, Features: w.features,
		Traced: cfg.Traces.Endpoint != "", IgnoreUnknown: cfg.Input.UnknownFeatures == config.Ignore,
		Forget: newForgetter(cfg, w), Tombstones: cfg.Output.Tombstones, Observer: observer}
	if len(cfg.Models) > 0 {
		o.Models = models{}
	}
	if watcher, ok := w.versions.(versions).source.(*serving.Watcher); ok && cfg.Candidate.Mode == config.Canary {
		o.Canary = consumer.Canary{Candidate: canary{watcher}, Share: int(math.Round(100 * cfg.Candidate.Percent))}
	}
	return o
}

// newProducer makes the producer that delivers batches.
func newProducer(cfg config.Consumer, client *kafka.Client, out event.Codec,
	wait retry.Patience) (*producer.Producer, error) {
	sink, err := kafka.NewSink(client, cfg.Kafka.Compression, wait)
	if err != nil {
		return nil, err
	}
	o := producer.Options{Sink: sink, Predictions: cfg.Kafka.Topics.Predictions, DeadLetters: cfg.Kafka.Topics.DeadLetters,
		Codec: out, Logger: wait.Logger}
	if cfg.Delivery == config.ExactlyOnce {
		o.Transactions, err = sink.Transactions(cmp.Or(cfg.Kafka.TransactionalID, cfg.Kafka.Group),
			cfg.Kafka.TransactionTimeout)
		if err != nil {
			return nil, err
		}
	}
	return producer.New(o)
}
