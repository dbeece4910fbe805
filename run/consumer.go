package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/infer/attach"
	"rivulet/internal/build"
	"rivulet/internal/check"
	"rivulet/internal/httpd"
	"rivulet/internal/logs"
	"rivulet/internal/monitor"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/producer"
	"rivulet/run/connect"
)

// Consumer runs the service until ctx ends, then drains: the consumer first, whose batches still need a version,
// then the services behind it. also, where not nil, observes the same events as the metrics. It returns nil after a
// drain. docs/operate.md explains the lines of the log.
func Consumer(ctx context.Context, cfg config.Consumer, log *slog.Logger, also consumer.Observer) error {
	b := build.Read()
	log.Info("the consumer starts", "version", b.Version, "commit", b.Commit, "go", b.Go)
	logSettings(log, cfg)
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &streamService{cfg: cfg, log: log, background: &services{}, journal: logs.NewJournal(log, nil)}
	drained := announceDrain(ctx, cfg.Shutdown.DrainTimeout, log)
	err := endsBy(ctx, cfg.Shutdown.DrainTimeout, func() error { return s.serve(ctx, running, also, cancel) })
	drained()
	if errors.Is(err, consumer.ErrDrainTimeout) { // the rest only names the work that was cut off
		err = fmt.Errorf("%w: what was in hand after %s is not committed, and is read again", consumer.ErrDrainTimeout,
			cfg.Shutdown.DrainTimeout)
	}
	s.journal.Summary(err)
	return err
}

// endsBy returns what work returns, or [consumer.ErrDrainTimeout] if it has not returned for limit after ctx ended:
// whatever hangs then, such as a server that accepts connections and never answers, is left to the end of the process.
func endsBy(ctx context.Context, limit time.Duration, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%w: something still hung after %s", consumer.ErrDrainTimeout, limit)
	}
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

// streamService is the stream of arrivals, with the services that run beside it.
type streamService struct {
	cfg        config.Consumer
	log        *slog.Logger
	journal    *logs.Journal
	background *services
	closers    []func() // in the order in which things were opened

	observer monitor.Monitor   // nil: nobody measures
	told     consumer.Observer // of all events
	framed   connect.Framed    // nil: predictions are not in the registry's form
	consumer *consumer.Consumer
	client   *kafka.Client
}

// serve opens the stream, serves its metrics and health, and runs it until running ends.
func (s *streamService) serve(ctx, running context.Context, also consumer.Observer,
	cancel context.CancelCauseFunc) error {
	defer s.close()
	if err := s.open(ctx, also, cancel); err != nil || ctx.Err() != nil {
		return err
	}
	doors := &services{}
	defer doors.end()
	if err := doors.startDebug(ctx, s.cfg.Debug, config.Shown(s.cfg), s.log); err != nil {
		return err
	}
	if s.cfg.HTTP.Listen != "" {
		listener, err := httpd.Listen(ctx, "http.listen", s.cfg.HTTP.Listen)
		if err != nil {
			return err
		}
		s.log.Info("listening for metrics and health", "address", listener.Addr().String())
		doors.startVital(ctx, cancel, func(ctx context.Context) error {
			return s.observer.Serve(ctx, listener, s.cfg.HTTP.Hosts)
		})
	}
	err := s.run(running)
	doors.end()
	return errors.Join(doors.failed, err)
}

// close stops the services that open started.
func (s *streamService) close() {
	s.background.end() // first: the watcher still releases its versions
	for _, end := range slices.Backward(s.closers) {
		end()
	}
}

// open loads the version that is served, and wires the path of a record and the services beside it. Where ctx ends
// meanwhile it returns nil, and nothing can be run.
func (s *streamService) open(ctx context.Context, also consumer.Observer, cancel context.CancelCauseFunc) error {
	cfg, log := s.cfg, s.log
	if !monitor.Linked() && (cfg.HTTP.Listen != "" || cfg.Labels.Topic != "") {
		return errUnwatched
	}
	from, end, err := servedVersions(ctx, cfg, connect.ConsumerACL, log, s.background, cancel)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, end)
	if ctx.Err() != nil {
		return nil
	}
	watched := monitor.Options{Version: from.name, Trouble: from.Trouble, Classes: from.classes, Cache: from.cache,
		Arrivals: from.arrivals, Losses: from.Losses, Reference: from.reference}
	if cfg.Labels.Topic != "" {
		watched.Labels = &monitor.LabelOptions{Remember: cfg.Labels.Remember, TTL: cfg.Labels.TTL}
	}
	forms, known, err := Forms(cfg.Input, cfg.Registry)
	if err != nil {
		return err
	}
	out, framed, err := outputCodec(cfg)
	if err != nil {
		return err
	}
	store, closeStore, err := connect.Features(cfg.Features, cfg.Redis.RedisServer, cfg.Limits)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, closeStore)
	w := wire{from, forms, known, store, out}
	s.observer, s.framed = monitor.New(watched), framed
	s.told = both(s.journal, also)
	if s.observer != nil {
		s.told = both(s.observer, s.told)
	}
	c, client, err := newConsumer(cfg, w, log, s.told)
	if err != nil {
		return err
	}
	s.consumer, s.client, s.closers = c, client, append(s.closers, client.Close)
	if cfg.Labels.Topic != "" {
		s.background.startVital(ctx, cancel, func(ctx context.Context) error {
			return followLabels(ctx, cfg, forms.OfLabels(), known, log, s.observer)
		})
	}
	return nil
}

// errUnwatched refuses what needs package observe.
var errUnwatched = errors.New("http.listen, labels.topic and serving need metrics, which this program is built without")

// run consumes until running ends, and then drains.
func (s *streamService) run(running context.Context) error {
	s.background.start(running, s.adviseTopic)
	err := resolveOutput(running, s.framed, retry.Patience{Observer: s.told, Logger: s.log})
	if err == nil {
		err = connect.AdviseKafka(s.consumer.Run(running), s.cfg.Kafka.Brokers)
	} else if running.Err() != nil { // a stop while the registry was away
		err = nil
	}
	s.background.end()
	return connect.Advised(errors.Join(err, s.background.failed), connect.ConsumerACL)
}

// adviseTopic warns once of settings of the topic of arrivals by which records are lost before they are read. It waits
// until the topic is there.
func (s *streamService) adviseTopic(ctx context.Context) error {
	k := check.Kafka{Client: s.client, Arrivals: s.cfg.Kafka.Topics.Arrivals, Wait: s.cfg.Attach.Wait,
		Timeout: checkTimeout}
	found, err := k.Losses(ctx)
	for err != nil {
		if retry.Sleep(ctx, retry.SystemClock{}, adviseEvery) != nil {
			return nil
		}
		found, err = k.Losses(ctx)
	}
	for _, r := range found {
		s.log.Warn("the topic of arrivals may lose records before they are read", "topic", s.cfg.Kafka.Topics.Arrivals,
			"reason", r.Found, "do", r.Do)
	}
	return nil
}

// adviseEvery is the pause between two questions for the settings of the topic of arrivals, until they are answered.
const adviseEvery = 30 * time.Second

// wire is a consumer's input and output: versions, forms, registry.
type wire struct {
	versions versions
	forms    read.Reader
	registry consumer.Registry    // has the schemas of forms; nil: there is none
	features connect.FeatureStore // nil: arrivals bring their features
	out      event.Codec
}

// newConsumer wires the path of a record.
func newConsumer(cfg config.Consumer, w wire, log *slog.Logger,
	observer consumer.Observer) (*consumer.Consumer, *kafka.Client, error) {
	mode, err := attach.ModeOf(cfg.Batch.Mode)
	if err != nil {
		return nil, nil, err
	}
	topics := cfg.Kafka.Topics
	client, err := connect.Kafka(cfg.Kafka.Brokers, topics.Arrivals, topics.Predictions, topics.DeadLetters)
	if err != nil {
		return nil, nil, err
	}
	client.TellThrottles(retry.Patience{Observer: observer, Logger: log})
	deliver, exactly, err := newProducer(cfg, client, w.out, retry.Patience{Observer: observer, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	c, err := consumer.New(consumer.Options{
		Kafka: client, Source: sourceOptions(cfg),
		BatchSize: cfg.Batch.Size, BatchBytes: int(cfg.Batch.MaxBytes), BatchLinger: cfg.Batch.Linger,
		Window: window.Options{Wait: cfg.Attach.Wait, Ahead: cfg.Attach.MaxAhead, Bytes: int(cfg.Attach.WaitBytes),
			DropUnmatched: cfg.Attach.Unmatched == config.Drop},
		DrainTimeout: cfg.Shutdown.DrainTimeout, Transactions: exactly, CommitInterval: cfg.Kafka.CommitInterval,
		Registry: w.registry,
		Path:     w.path(cfg, mode, deliver, observer), Logger: log,
	})
	return c, client, err
}

// sourceOptions say how the topic of arrivals is read.
func sourceOptions(cfg config.Consumer) kafka.SourceOptions {
	start := kafka.Start(cfg.Kafka.StartOffset)
	if !cfg.Kafka.StartTime().IsZero() {
		start = kafka.AtTime
	}
	topics := cfg.Kafka.Topics
	instance, byDefault := instanceID(cfg)
	return kafka.SourceOptions{Group: cfg.Kafka.Group, Topics: []string{topics.Arrivals},
		Writes: []string{topics.Predictions, topics.DeadLetters}, Purpose: purpose(cfg),
		Start: start, StartTime: cfg.Kafka.StartTime(),
		FetchBytes: int(cfg.Kafka.Fetch.MaxBytes), FetchWait: cfg.Kafka.Fetch.MaxWait,
		SessionTimeout: cfg.Kafka.SessionTimeout, Heartbeat: cfg.Kafka.HeartbeatInterval,
		Instance: instance, InstanceByDefault: byDefault}
}

// instanceID returns the name of this process in the consumer group, and whether it is the default: the host's name and
// the port of http.listen, which no other process of the host has. Without a fixed port there is none.
func instanceID(cfg config.Consumer) (id string, byDefault bool) {
	if cfg.Kafka.InstanceID != "" {
		return cfg.Kafka.InstanceID, false
	}
	_, port, err := net.SplitHostPort(cfg.HTTP.Listen)
	if n, malformed := strconv.Atoi(port); err != nil || malformed != nil || n == 0 {
		return "", false
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "", false
	}
	return instanceOf(host, port), true
}

// instanceOf returns an instance id that Kafka takes: of letters, digits, dots, underscores and hyphens, 249 at most.
func instanceOf(host, port string) string {
	const most = 249
	host = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r)) {
			return r
		}
		return '-'
	}, host)
	return host[:min(len(host), most-1-len(port))] + "-" + port
}

// purpose tells consumers that answer the same arrivals from other programs in their group.
func purpose(cfg config.Consumer) string {
	return "writes predictions to " + cfg.Kafka.Topics.Predictions
}

// path returns the settings of the path of a record.
func (w wire) path(cfg config.Consumer, mode *attach.Mode, deliver consumer.Deliverer,
	observer consumer.Observer) consumer.PipelineOptions {
	o := consumer.PipelineOptions{Versions: w.versions, Deliverer: deliver, Mode: mode,
		Arrivals: cfg.Attach.Arrivals == config.On, Limits: Limits(cfg.Limits), Output: output(cfg.Output), Forms: w.forms,
		Features: w.features,
		Traced:   cfg.Traces.Endpoint != "", IgnoreUnknown: cfg.Input.UnknownFeatures == config.Ignore,
		Forget: newForgetter(cfg, w), Observer: observer}
	return o
}

// newProducer makes the producer that publishes batches, and the transactions that it publishes into; nil at least
// once.
func newProducer(cfg config.Consumer, client *kafka.Client, out event.Codec,
	wait retry.Patience) (*producer.Producer, consumer.Transactions, error) {
	sink, err := kafka.NewSink(client, cfg.Kafka.Compression, wait)
	if err != nil {
		return nil, nil, err
	}
	o := producer.Options{Sink: sink, Predictions: cfg.Kafka.Topics.Predictions, DeadLetters: cfg.Kafka.Topics.DeadLetters,
		Codec: out, Logger: wait.Logger}
	if cfg.Delivery != config.ExactlyOnce {
		p, err := producer.New(o)
		return p, nil, err
	}
	o.Transactions, err = sink.Transactions(cmp.Or(cfg.Kafka.TransactionalID, cfg.Kafka.Group),
		cfg.Kafka.TransactionTimeout)
	if err != nil {
		return nil, nil, err
	}
	p, err := producer.New(o)
	return p, o.Transactions, err
}
