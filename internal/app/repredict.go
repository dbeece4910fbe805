package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/consumer/schemas"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/serving"
)

// RepredictOptions say which arrivals are predicted again, by which version, and where predictions go.
type RepredictOptions struct {
	From, To time.Time // of the records' timestamps; a zero To: the end that the topic has when reading begins
	Version  string    // in Redis; empty: the one that CURRENT names, or the pinned artifact of the settings
	Topic    string    // of the predictions; empty: Out, as JSON lines
	Out      io.Writer
	// Rejected is told of each record that cannot be predicted: no dead letter is published.
	Rejected func(d *event.DeadLetter)
	// Progress is called with the work in hand, the number of records that are done, and their total.
	Progress func(doing string, done, total int)
}

// Doing of [RepredictOptions.Progress].
const (
	repredicting = "predicting again"
	waitsForRows = "predicting again: waiting for rows of M"
	waitsForIDs  = "predicting again: waiting for features by id"
)

// Repredict predicts arrivals again that the topic still has, on the path of the consumer with its settings, and
// commits nothing: no group's offsets move, and no arrival gets a row. Partitions are read one after the other.
// A prediction is degraded where nothing tells that its neighbours are those of the first time. With input.forget it
// leaves out ids that a later record of the topic, up to its end, asks to forget.
func Repredict(ctx context.Context, cfg config.Consumer, o RepredictOptions, log *slog.Logger) (c Counts, err error) {
	pipelines, err := config.Pipelines(cfg)
	if err != nil {
		return c, err
	}
	if len(pipelines) > 1 {
		return c, errors.New("pipelines lists several, and one is predicted again: want --pipelines with its file alone")
	}
	cfg = pipelines[0].Settings
	if len(cfg.Models) > 0 {
		return c, errors.New("models is set, and one model predicts again: set model in its place")
	}
	if cfg.Attach.Wait > 0 {
		return c, errors.New("attach.wait is set, and predicting again does not join edges that came as records of their own")
	}
	background := &services{}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from, end, err := repredictor(running, cfg, o.Version, log, background, cancel)
	if err != nil {
		return c, err
	}
	defer end()
	defer background.end()
	cfg.Delivery = config.AtLeastOnce
	forms, known, err := Forms(cfg.Input, cfg.Registry)
	if err != nil {
		return c, err
	}
	store, closeStore, err := Features(cfg.Features, cfg.Redis.RedisServer, cfg.Limits)
	if err != nil {
		return c, err
	}
	defer closeStore()
	out, framed, err := outputCodec(cfg)
	if err != nil {
		return c, err
	}
	wait := retry.Patience{Logger: log}
	deliver, closeOut, err := o.deliverer(cfg, out, wait, &c)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	if o.Topic != "" {
		if err := resolveOutput(running, framed, wait); err != nil {
			return c, err
		}
	}
	forgotten := forgottenIDs{}
	path := wire{from, forms, known, store, out}.path(cfg, &forgottenFilter{deliver, forgotten, &c}, nil)
	path.ReadOnly, path.Repeat, path.Notes, path.Tombstones, path.Forget = true, true, false, false, nil
	path.Canary = consumer.Canary{}
	pipeline, err := consumer.NewPipeline(path)
	if err != nil {
		return c, err
	}
	b := &backfill{pipeline: pipeline, forms: &forms, forgotten: forgotten, size: cfg.Batch.Size,
		bytes: int(cfg.Batch.MaxBytes), progress: o.Progress,
		rows:     wait.Outage(consumer.StageLookup).Named("rows of M").Attempts(),
		features: wait.Outage(consumer.StageStore).Named("features by id").Attempts(),
		schemas:  schemas.New(&forms, known, schemas.Outage(wait).Attempts())}
	err = b.read(running, cfg, o.From, o.To, wait)
	c.Skipped = b.done - c.Predicted - c.Rejected - c.Forgotten
	return c, advised(adviseKafka(err, cfg.Kafka.Brokers), serveACL)
}

// repredictor returns the version that predicts again.
func repredictor(ctx context.Context, cfg config.Consumer, version string, log *slog.Logger, background *services,
	failed context.CancelCauseFunc) (from versions, end func(), err error) {
	if cfg.Artifact != "" {
		if version != "" {
			return from, nil, fmt.Errorf("--version is %s, and artifact pins %s: give one of them", version, cfg.Artifact)
		}
		from, err = pinnedBy(ctx, cfg, log)
		return from, func() {}, err
	}
	cfg.Candidate.Mode = "off"
	watcher, closeClient, err := follower(cfg, version, log)
	if err != nil {
		return from, nil, err
	}
	if err := watcher.Load(ctx); err != nil {
		_ = closeClient()
		return from, nil, advised(err, serveACL)
	}
	current := watcher.Current()
	background.startVital(ctx, failed, watcher.Run) // its heartbeats keep the version in Redis
	return versions{serving.Pinned(current)}, func() { _ = closeClient() }, nil
}

// deliverer returns the topic or file that predictions go to, and the function that closes it.
func (o *RepredictOptions) deliverer(cfg config.Consumer, out event.Codec, wait retry.Patience,
	c *Counts) (consumer.Deliverer, func() error, error) {
	rejected := func(_ int64, d *event.DeadLetter) { o.Rejected(d) }
	if o.Topic == "" {
		lines := bufio.NewWriter(o.Out)
		return &fileDeliverer{w: lines, rejected: rejected, counts: c}, lines.Flush, nil
	}
	cfg.Kafka.Topics.Predictions = o.Topic
	client, err := ConnectKafka(cfg.Kafka.Brokers, o.Topic)
	if err != nil {
		return nil, nil, err
	}
	p, err := newProducer(cfg, client, out, wait)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return &topicDeliverer{p, rejected, c}, func() error { client.Close(); return nil }, nil
}

// topicDeliverer delivers predictions to a topic, and no dead letters: the consumers have published those.
type topicDeliverer struct {
	to       consumer.Deliverer
	rejected func(int64, *event.DeadLetter)
	counts   *Counts
}

// Publish implements [consumer.Deliverer].
func (t *topicDeliverer) Publish(ctx context.Context, b event.Batch, _ kafka.Offsets,
	_ kafka.Committer) (kafka.Delivery, error) {
	t.counts.take(&b, t.rejected)
	b.DeadLetters = nil
	return t.to.Publish(ctx, b, nil, nil)
}

// forgottenIDs has, of each id that a record asks to forget, the place of the last one that does.
type forgottenIDs map[string]kafka.Position

// note takes a record.
func (f forgottenIDs) note(forms *form.Reader, rec *kafka.Record, a *event.Arrival) {
	var ask form.Forget
	if rec.Damage == nil && errors.As(forms.Event(rec.Key, rec.Headers, rec.Value, a), &ask) {
		f[ask.ID] = rec.Position
	}
}

// has reports whether an arrival came before a record that asks to forget its id. Between partitions there is no order:
// then it is forgotten.
func (f forgottenIDs) has(p *event.Prediction) bool {
	at, is := f[p.ID]
	return is && (at.Partition != p.Source.Partition || at.Offset > p.Source.Offset)
}

// forgottenFilter delivers batches without the predictions of forgotten ids.
type forgottenFilter struct {
	to     consumer.Deliverer
	ids    forgottenIDs
	counts *Counts
}

// Publish implements [consumer.Deliverer].
func (w *forgottenFilter) Publish(ctx context.Context, b event.Batch, next kafka.Offsets,
	by kafka.Committer) (kafka.Delivery, error) {
	if len(w.ids) == 0 {
		return w.to.Publish(ctx, b, next, by)
	}
	left := event.Batch{DeadLetters: b.DeadLetters}
	for i := range b.Predictions {
		if w.ids.has(&b.Predictions[i]) {
			w.counts.Forgotten++
			continue
		}
		left.Predictions, left.Answered = append(left.Predictions, b.Predictions[i]), append(left.Answered, b.Answered[i])
	}
	return w.to.Publish(ctx, left, next, by)
}

// backfill reads arrivals and takes them down the path in batches.
type backfill struct {
	pipeline    *consumer.Pipeline
	schemas     *schemas.Learner
	size, bytes int // of a batch
	progress    func(doing string, done, total int)
	forms       *form.Reader
	forgotten   forgottenIDs

	rows, features *retry.Attempts // wait for Redis

	held        []kafka.Record
	weight      int // bytes of held
	done, total int
	batches     int
}

// read reads the arrivals of a span of time.
func (b *backfill) read(ctx context.Context, cfg config.Consumer, from, to time.Time, wait retry.Patience) error {
	client, err := ConnectKafka(cfg.Kafka.Brokers, cfg.Kafka.Topics.Arrivals)
	if err != nil {
		return err
	}
	defer client.Close()
	o := kafka.ReaderOptions{Topic: cfg.Kafka.Topics.Arrivals}
	r, err := kafka.NewReader(client, o, wait)
	if err != nil {
		return err
	}
	first, err := r.Since(ctx, from)
	if err == nil && b.forms.Forget {
		var a event.Arrival
		_, err = r.ToEnd(ctx, first, func(rec kafka.Record) error {
			err := b.schemas.Await(ctx, rec)
			b.forgotten.note(b.forms, &rec, &a)
			return err
		})
	}
	if err != nil {
		return err
	}
	_, o.Until, err = r.Range(ctx)
	if err == nil && !to.IsZero() {
		o.Until, err = r.Since(ctx, to)
	}
	if err != nil {
		return err
	}
	for at, offset := range o.Until {
		b.total += int(max(0, offset-first[at]))
	}
	if r, err = kafka.NewReader(client, o, wait); err != nil {
		return err
	}
	b.progress(repredicting, 0, b.total)
	if _, err = r.ToEnd(ctx, first, func(rec kafka.Record) error { return b.take(ctx, rec) }); err != nil {
		return err
	}
	return b.flush(ctx)
}

// take adds a record to a batch.
func (b *backfill) take(ctx context.Context, rec kafka.Record) error {
	if err := b.schemas.Await(ctx, rec); err != nil {
		return err
	}
	b.held, b.weight = append(b.held, rec), b.weight+len(rec.Key)+len(rec.Value)
	if len(b.held) < b.size && (b.bytes == 0 || b.weight < b.bytes) {
		return nil
	}
	return b.flush(ctx)
}

// flush takes the batch down the path, again and again while rows of M or features cannot be read.
func (b *backfill) flush(ctx context.Context) error {
	if len(b.held) == 0 {
		return nil
	}
	b.batches++
	in := consumer.Intake{Name: fmt.Sprintf("repredict-%d", b.batches), Records: b.held}
	for {
		err := b.pipeline.Process(ctx, in)
		attempts, doing := b.rows, waitsForRows
		switch {
		case err == nil:
			b.rows.Over()
			b.features.Over()
			b.done += len(b.held)
			b.progress(repredicting, b.done, b.total)
			clear(b.held)
			b.held, b.weight = b.held[:0], 0
			return nil
		case errors.Is(err, consumer.ErrFeatures):
			attempts, doing = b.features, waitsForIDs
		case !errors.Is(err, consumer.ErrLookup):
			return err
		}
		b.progress(doing, b.done, b.total)
		if err := attempts.Failed(ctx, err); err != nil {
			return err
		}
	}
}
