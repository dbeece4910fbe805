package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"time"

	"rivulet/config"
	"rivulet/event"
	"rivulet/infer/architecture"
	"rivulet/internal/app"
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/mapping"
	"rivulet/serving"
)

// Ways for a stream to pass from the arrivals' topic to the predictions'.
const (
	wayConsumer    = "consumer"     // at least once
	wayExactly     = "exactly-once" // the consumer with transactions
	wayPassthrough = "passthrough"
	wayLoop        = "franz-go"
)

// drainRounds is how often each way drains a topic, in turn with the others: a drain takes some tenths of a second, and
// one of them may be a tenth off.
const drainRounds = 7

// loads are shares of the most that the consumer takes while arrivals are being sent.
var loads = []float64{0.5, 0.8}

// window is how many arrivals are under way at once where as many are sent as are taken.
const window = 4096

// streams holds the shared parts of a run's streams.
type streams struct {
	services *Services
	redis    config.RedisServer // with the prefix of the run
	topics   *topics
	client   *kafka.Client
	sink     *kafka.Sink
}

// journey is one stream on one way.
type journey struct {
	form             *formRecords
	in, out, letters string
	group            string
}

// stream measures the consumer, the passthrough and the plain loop on the same arrivals: draining a topic, and
// consumer and passthrough at shares of the consumer's most.
func (b *run) stream(ctx context.Context) error {
	shape, err := b.streamShape()
	if err != nil {
		return err
	}
	sgc, err := architecture.Lookup("sgc")
	if err != nil {
		return err
	}
	bundle, err := shape.Bundle([]*architecture.Architecture{sgc})
	if err != nil {
		return err
	}
	return b.onServices(ctx, func(s *streams) error {
		err := app.WithPublisher(s.redis,
			func(p *serving.Publisher) error { return p.Publish(ctx, bundle, serving.PublishOptions{}) })
		if err != nil {
			return err
		}
		for _, name := range []string{"json", "protobuf"} {
			f, err := newForm(name, shape.events(max(2_000, int(200_000*b.Time.Seconds()))))
			if err != nil {
				return err
			}
			err = b.streamIn(ctx, s, shape.Name, f)
			f.close()
			if err != nil {
				return fmt.Errorf("in %s: %w", name, err)
			}
		}
		return nil
	})
}

// streamShape is the one shape of the section: flickr unless another is asked for.
func (b *run) streamShape() (*Shape, error) {
	name := "flickr"
	if len(b.Shapes) > 0 {
		name = b.Shapes[0]
	}
	s, err := ShapeNamed(name)
	return &s, err
}

// onServices opens the services for work, and closes them.
func (b *run) onServices(ctx context.Context, work func(*streams) error) (err error) {
	services, err := b.Services(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	return services.withKeys(ctx, func(server config.RedisServer, _ mapping.Client) (err error) {
		s := &streams{services: services, redis: server}
		if s.topics, err = openTopics(services.Kafka); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.topics.close(ctx)) }()
		if s.client, err = app.ConnectKafka(services.Kafka); err != nil {
			return err
		}
		defer s.client.Close()
		if s.sink, err = kafka.NewSink(s.client, "", retry.Patience{}); err != nil {
			return err
		}
		return work(s)
	})
}

// streamIn measures one wire form.
func (b *run) streamIn(ctx context.Context, s *streams, shape string, f *formRecords) error {
	name := shape + "/" + f.name + "/"
	in, err := s.topics.topic(ctx, "arrivals")
	if err != nil {
		return err
	}
	defer func() { _ = s.topics.drop(ctx, in) }()
	for from := 0; from < f.len(); from += 1000 {
		if err := s.sink.Send(ctx, in, f.records(from, min(f.len(), from+1000))); err != nil {
			return err
		}
	}
	b.Progress.Live("stream " + name + "drained")
	if err := s.learnAnswers(ctx, in, f); err != nil {
		return err
	}
	if err := b.drained(ctx, s, name, in, f); err != nil {
		return err
	}
	if b.unloaded {
		return nil
	}
	return b.loaded(ctx, s, name, f)
}

// learnAnswers lets the consumer answer all arrivals once, and keeps the predictions.
func (s *streams) learnAnswers(ctx context.Context, in string, f *formRecords) error {
	m, records := newMeter(f.len()), make([]kafka.Record, f.len())
	var failed error
	m.keep = func(p *event.Prediction) { // its memory is used again after this call
		k, ok := numberOf(p.ID)
		if !ok || k >= len(records) {
			return
		}
		var err error
		if records[k].Value, err = f.codec.AppendPrediction(nil, p); err != nil {
			failed = err
		}
		records[k].Headers, _ = event.AppendPredictionHeaders(nil, nil, p, f.codec.ContentType())
	}
	if err := s.travel(ctx, wayConsumer, &journey{form: f, in: in}, m, nil); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	return f.learn(records)
}

// drained lets each way drain the same topic, in turn.
func (b *run) drained(ctx context.Context, s *streams, name, in string, f *formRecords) error {
	ways, pairs := []string{wayConsumer, wayPassthrough, wayLoop},
		[][2]string{{wayConsumer, wayPassthrough}, {wayPassthrough, wayLoop}}
	if b.Delivery == config.ExactlyOnce {
		ways, pairs = slices.Insert(ways, 1, wayExactly), append(pairs, [2]string{wayExactly, wayConsumer})
	}
	rates, bytes, cpu := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	n := float64(f.len())
	for range drainRounds {
		for _, way := range ways {
			m := newMeter(f.len())
			if err := s.travel(ctx, way, &journey{form: f, in: in}, m, nil); err != nil {
				return err
			}
			rates[way], bytes[way], cpu[way] = append(rates[way], m.rate()),
				append(bytes[way], float64(m.total().bytes)/n), append(cpu[way], m.total().cpu.Seconds()/n)
		}
	}
	for _, way := range ways {
		b.report.add(Stream, name+"drained/"+way, drainRounds,
			map[string]float64{"nodes/s": median(rates[way]), "B/node": median(bytes[way]),
				"CPU-s/Mnode": median(cpu[way]) * 1e6})
	}
	for _, pair := range pairs {
		b.report.add(Stream, name+pair[0]+"-of-"+pair[1], drainRounds, map[string]float64{
			"share":     median(quotients(rates[pair[0]], rates[pair[1]])),
			"CPU share": median(quotients(cpu[pair[1]], cpu[pair[0]]))})
	}
	return nil
}

// loaded measures the consumer's highest rate while this process sends arrivals, and latencies at shares of that rate.
func (b *run) loaded(ctx context.Context, s *streams, name string, f *formRecords) error {
	b.Progress.Live("stream " + name + "sent")
	most := newMeter(f.len())
	if err := s.sent(ctx, wayConsumer, f, most, 0); err != nil {
		return err
	}
	b.report.add(Stream, name+"sent/most", 1, map[string]float64{"nodes/s": most.rate()})
	paces := map[string]float64{}
	for _, load := range loads {
		paces[fmt.Sprintf("%.0f%%", 100*load)] = load * most.rate()
	}
	if b.Rate > 0 {
		paces[fmt.Sprintf("%d a second", b.Rate)] = float64(b.Rate)
	}
	ways := []string{wayConsumer, wayPassthrough}
	if b.Delivery == config.ExactlyOnce {
		ways = slices.Insert(ways, 1, wayExactly)
	}
	for _, load := range slices.Sorted(maps.Keys(paces)) {
		pace := paces[load]
		n := min(f.len(), max(1_000, int(pace*10*b.Time.Seconds())))
		for _, way := range ways {
			m := newMeter(n)
			if err := s.sent(ctx, way, f, m, pace); err != nil {
				return err
			}
			q := m.quantiles(0.5, 0.99, 0.999)
			b.report.add(Stream, fmt.Sprintf("%ssent/%s/%s", name, load, way), n,
				map[string]float64{"nodes/s": m.rate(), "p50-ms": q[0], "p99-ms": q[1], "p99.9-ms": q[2]})
		}
	}
	return nil
}

// sent lets a way answer arrivals while they are sent.
func (s *streams) sent(ctx context.Context, way string, f *formRecords, m *meter, pace float64) error {
	in, err := s.topics.topic(ctx, "paced")
	if err != nil {
		return err
	}
	err = s.travel(ctx, way, &journey{form: f, in: in}, m, &sender{sink: s.sink, topic: in, form: f, meter: m, pace: pace})
	return errors.Join(err, s.topics.drop(ctx, in))
}

// patience is how long a stream may take.
const patience = 2 * time.Minute

// travel takes a stream along a way until all of it is delivered; by sends it meanwhile, nil if it has been sent.
func (s *streams) travel(ctx context.Context, way string, j *journey, m *meter, by *sender) (err error) {
	for purpose, name := range map[string]*string{"predictions": &j.out, "letters": &j.letters} {
		if *name, err = s.topics.topic(ctx, purpose); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, s.topics.drop(ctx, j.out, j.letters)) }()
	j.group = s.topics.group()
	runtime.GC() // so that earlier streams' garbage does not count here, as in Go's benchmarks
	limited, late := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("not all arrivals were delivered within %s", patience))
	defer late()
	traveling, arrive := context.WithCancel(limited)
	defer arrive()
	m.reached = arrive
	sending := make(chan error, 1)
	if by == nil {
		sending <- nil
	} else {
		go func() {
			err := by.run(traveling)
			if err != nil {
				arrive()
			}
			sending <- err
		}()
	}
	switch way {
	case wayConsumer:
		err = s.consume(traveling, j, m, config.AtLeastOnce)
	case wayExactly:
		err = s.consume(traveling, j, m, config.ExactlyOnce)
	case wayPassthrough:
		err = s.passthrough(traveling, j, m)
	default:
		err = s.loop(traveling, j, m)
	}
	arrive()
	err = errors.Join(err, <-sending, context.Cause(limited))
	if err == nil && m.letters > 0 {
		err = fmt.Errorf("%d arrivals became dead letters", m.letters)
	}
	return err
}

// sender sends the arrivals of a form once partitions are assigned.
type sender struct {
	sink  *kafka.Sink
	topic string
	form  *formRecords
	meter *meter
	pace  float64 // arrivals a second; 0: as many as keep window of them under way
	sentN int
}

func (s *sender) run(ctx context.Context) error {
	select {
	case <-s.meter.joined:
	case <-ctx.Done():
		return nil
	}
	warm, err := s.warmUp(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	s.meter.paced(time.Now(), s.pace, warm)
	stream := replay.Stream{Name: s.topic, Len: s.meter.want - warm, Arrival: func(k int, at time.Time) event.Arrival {
		return event.Arrival{ID: string(s.form.arrivals.part(warm+k, 0)), Time: at}
	}}
	_, err = replay.Replay(ctx, stream, s, replay.Options{Rate: s.pace, Chunk: 250})
	return ended(ctx, err)
}

// warmUp sends the first arrivals, and waits until they are delivered: a group takes up to some seconds from its
// assignment to its first answers, in which nothing is learnt of a stream. It returns how many they are.
func (s *sender) warmUp(ctx context.Context) (int, error) {
	warm := min(1000, s.meter.want/10)
	if err := s.Send(ctx, make([]event.Arrival, warm)); err != nil {
		return 0, err
	}
	for s.meter.progress() < warm {
		if err := retry.Sleep(ctx, retry.SystemClock{}, time.Millisecond); err != nil {
			return 0, err
		}
	}
	return warm, nil
}

// Send sends the next arrivals of the stream, whose encoding is known.
func (s *sender) Send(ctx context.Context, due []event.Arrival) error {
	for s.pace == 0 && s.sentN-s.meter.progress() > window-len(due) {
		if err := retry.Sleep(ctx, retry.SystemClock{}, 100*time.Microsecond); err != nil {
			return err
		}
	}
	records := s.form.records(s.sentN, s.sentN+len(due))
	for i := range records {
		records[i].Time = due[i].Time
	}
	s.sentN += len(due)
	return s.sink.Send(ctx, s.topic, records)
}

// settings are the consumer's settings for one stream: defaults, except for its input and output.
func (s *streams) settings(j *journey) config.Consumer {
	cfg := config.Default[config.Consumer]()
	cfg.Kafka.Brokers, cfg.Redis.RedisServer = s.services.Kafka, s.redis
	cfg.Kafka.Group = j.group
	cfg.Kafka.Topics = config.Topics{Arrivals: j.in, Predictions: j.out, DeadLetters: j.letters}
	cfg.Output.Format = j.form.name
	cfg.HTTP.Listen = ""
	return cfg
}

// consume is the consumer as production runs it, in this process.
func (s *streams) consume(ctx context.Context, j *journey, m *meter, delivery string) error {
	cfg := s.settings(j)
	cfg.Delivery = delivery
	return app.RunConsumer(ctx, cfg, slog.New(slog.DiscardHandler), m)
}
