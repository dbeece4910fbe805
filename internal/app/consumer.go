package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/consumer/schemas"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/internal/build"
	"rivulet/internal/observe"
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

// RunConsumer runs the service until ctx ends, then drains: the consumer first, whose batches still need a version,
// then the services behind it. also, where not nil, observes the same events as the metrics, and more if it is an
// [Insider]. It returns nil after a drain. docs/operate.md explains the lines of the log.
func RunConsumer(ctx context.Context, cfg config.Consumer, log *slog.Logger, also consumer.Observer) error {
	b := build.Read()
	log.Info("the consumer starts", "version", b.Version, "commit", b.Commit, "go", b.Go)
	logSettings(log, cfg)
	journal := observe.NewJournal(log, nil)
	drained := announceDrain(ctx, cfg.Shutdown.DrainTimeout, log)
	err := runConsumer(ctx, cfg, log, journal, also)
	drained()
	if errors.Is(err, consumer.ErrDrainTimeout) { // the rest only names the work that was cut off
		err = fmt.Errorf("%w: what was in hand after %s is not committed, and is read again",
			consumer.ErrDrainTimeout, cfg.Shutdown.DrainTimeout)
	}
	journal.Summary(err)
	return err
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

func runConsumer(ctx context.Context, cfg config.Consumer, log *slog.Logger, journal *observe.Journal,
	also consumer.Observer) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	background := &services{}
	from, end, err := servedVersions(ctx, cfg, consumerACL, log, background, cancel)
	if err != nil {
		return err
	}
	defer end()
	defer background.end() // first: the watcher still releases its versions
	if err := background.startDebug(ctx, cfg.Debug, config.Shown(cfg), log); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	watched := observe.Options{Version: from.name, Classes: from.classes, Cache: from.cache, Arrivals: from.arrivals,
		Losses: from.losses, Rollbacks: from.rollbacks, Reference: from.reference}
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
	store, closeStore, err := Features(cfg.Features, cfg.Limits)
	if err != nil {
		return err
	}
	defer closeStore()
	w := wire{from, forms, known, store, out}
	tried, endTrial, err := tryCandidates(cfg, w, log)
	if err != nil {
		return err
	}
	defer endTrial()
	if tried != nil {
		watched.Candidates = tried.Compared
		background.start(ctx, tried.Run)
	}
	observer := observe.New(watched)
	var following func()
	if insider, ok := also.(Insider); ok {
		insider.Inside(observer, from.name)
		following = insider.FollowsLabels
	}
	told, labelled := both(both(observer, journal), also), labelSink(observer)
	if tried != nil {
		told, labelled = both(told, tried), comparedLabels{observer, tried}
	}
	if watcher, ok := from.source.(*serving.Watcher); ok {
		told = both(told, trial{watcher: watcher})
	}
	c, client, err := newConsumer(cfg, w, log, told)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := background.startRepartition(ctx, cfg, forms, known, observer, log, cancel); err != nil {
		return err
	}
	if cfg.HTTP.Listen != "" {
		listener, err := observe.Listen(ctx, cfg.HTTP.Listen)
		if err != nil {
			return err
		}
		log.Info("listening for metrics and health", "address", listener.Addr().String())
		background.start(ctx, func(ctx context.Context) error {
			err := observer.Serve(ctx, listener, cfg.HTTP.Hosts)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	if cfg.Labels.Topic != "" {
		background.start(ctx, func(ctx context.Context) error {
			err := followLabels(ctx, cfg, forms.OfLabels(), known, log, labelled, following)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	if err = resolveOutput(running, framed, retry.Patience{Observer: told, Logger: log}); err == nil {
		err = adviseKafka(c.Run(running), cfg.Kafka.Brokers)
	} else if ctx.Err() != nil { // a stop while the registry was away
		err = nil
	}
	background.end()
	return advised(errors.Join(err, background.failed), consumerACL)
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
			DropUnmatched: cfg.Attach.Unmatched == config.Drop, Age: cfg.Attach.UpdateAge, Settle: cfg.Attach.Settle},
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
		Update:        window.Update(cfg.Attach.Update),
		Limits:        Limits(cfg.Limits),
		Output:        output(cfg.Output),
		Forms:         w.forms,
		Features:      w.features,
		Traced:        cfg.Traces.Endpoint != "",
		IgnoreUnknown: cfg.Input.UnknownFeatures == config.Ignore,
		Forget:        newForgetter(cfg, w), Tombstones: cfg.Output.Tombstones,
		Observer: observer}
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

// services run beside the consumer.
type services struct {
	cancels []context.CancelFunc
	wait    sync.WaitGroup
	mu      sync.Mutex
	failed  error
}

// start runs f until end. f does not see the end of ctx: the consumer drains first.
func (s *services) start(ctx context.Context, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancels = append(s.cancels, cancel)
	s.wait.Go(func() {
		if err := f(ctx); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.failed == nil {
				s.failed = err
			}
		}
	})
}

// end ends all services and waits for them; failed is the first error then.
func (s *services) end() {
	for _, cancel := range s.cancels {
		cancel()
	}
	s.wait.Wait()
}
