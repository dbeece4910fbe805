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
	"rivulet/internal/replay"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/run"
	"rivulet/run/connect"
	"rivulet/serving"
)

// way takes a stream from the arrivals' topic to the predictions', until its context ends.
type way struct {
	name   string
	travel func(ctx context.Context, s *streams, j *journey, m *meter) error
}

var (
	consuming = way{"consumer", func(ctx context.Context, s *streams, j *journey, m *meter) error {
		return s.consume(ctx, j, m, config.AtLeastOnce)
	}}
	exactly = way{"exactly-once", func(ctx context.Context, s *streams, j *journey, m *meter) error {
		return s.consume(ctx, j, m, config.ExactlyOnce)
	}}
)

// drainRounds is the number of times that each way drains a topic, in turn with the others: a drain takes some tenths
// of a second, and one of them may be a tenth off.
const drainRounds = 7

// loads are shares of the most that the consumer takes while arrivals are being sent.
var loads = []float64{0.5, 0.8}

// window is the number of arrivals that are under way at once where as many are sent as are taken.
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

// stream measures the consumer on the same arrivals in each form: draining a topic, and at shares of the most that it
// takes while they are sent.
func (b *suite) stream(ctx context.Context) error {
	ways := []way{consuming}
	if b.Delivery == config.ExactlyOnce {
		ways = append(ways, exactly)
	}
	return b.inEachForm(ctx, func(s *streams, name, in string, f *formRecords) error {
		spent, err := b.drained(ctx, s, name, in, f, ways)
		if err != nil {
			return err
		}
		if b.Delivery == config.ExactlyOnce {
			b.compared(name, spent, exactly, consuming)
		}
		return b.loaded(ctx, s, name, f, ways)
	})
}

// inEachForm gives work a topic of arrivals in JSON and one in Protobuf, and begins with a published artifact.
func (b *suite) inEachForm(ctx context.Context, work func(s *streams, name, in string, f *formRecords) error) error {
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
		err := connect.WithPublisher(s.redis,
			func(p *serving.Publisher) error { return p.Publish(ctx, bundle, serving.PublishOptions{}) })
		if err != nil {
			return err
		}
		for _, form := range []string{"json", "protobuf"} {
			f, err := newForm(form, shape.events(max(2_000, int(200_000*b.Time.Seconds()))))
			if err != nil {
				return err
			}
			in, err := s.filled(ctx, f)
			if err == nil {
				err = errors.Join(work(s, shape.Name+"/"+form+"/", in, f), s.topics.drop(ctx, in))
			}
			f.close()
			if err != nil {
				return fmt.Errorf("in %s: %w", form, err)
			}
		}
		return nil
	})
}

// streamShape is the one shape of the section: the first that is asked for, or flickr.
func (b *suite) streamShape() (*Shape, error) {
	name := "flickr"
	if len(b.Shapes) > 0 {
		name = b.Shapes[0]
	}
	s, err := ShapeNamed(name)
	return &s, err
}

// onServices opens the services for work, and closes them.
func (b *suite) onServices(ctx context.Context, work func(*streams) error) (err error) {
	services, err := b.Services(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	return services.withKeys(ctx, func(server config.RedisServer) (err error) {
		s := &streams{services: services, redis: server}
		if s.client, err = connect.Kafka(services.Kafka); err != nil {
			return err
		}
		defer s.client.Close()
		s.topics = newTopics(s.client)
		defer func() { err = errors.Join(err, s.topics.close(ctx)) }()
		if s.sink, err = kafka.NewSink(s.client, "", retry.Patience{}); err != nil {
			return err
		}
		return work(s)
	})
}

// filled makes a topic that has the arrivals of a form.
func (s *streams) filled(ctx context.Context, f *formRecords) (topic string, err error) {
	if topic, err = s.topics.topic(ctx, "arrivals"); err != nil {
		return "", err
	}
	for from := 0; from < f.len() && err == nil; from += 1000 {
		err = s.sink.Send(ctx, topic, f.records(from, min(f.len(), from+1000)))
	}
	return topic, err
}

// drains are the measures of a way's rounds: arrivals a second, and bytes and CPU seconds of an arrival.
type drains struct{ rates, bytes, cpu []float64 }

// drained lets each way drain the same topic, in turn, and returns the measures by the names of the ways.
func (b *suite) drained(ctx context.Context, s *streams, name, in string, f *formRecords,
	ways []way) (map[string]*drains, error) {
	b.Progress.Live("stream " + name + "drained")
	all := map[string]*drains{}
	for _, w := range ways {
		all[w.name] = &drains{}
	}
	n := float64(f.len())
	for range drainRounds {
		for _, w := range ways {
			m := newMeter(f.len())
			if err := s.travel(ctx, w, &journey{form: f, in: in}, m, nil); err != nil {
				return nil, err
			}
			d, total := all[w.name], m.total()
			d.rates, d.bytes, d.cpu = append(d.rates, m.rate()), append(d.bytes, float64(total.bytes)/n),
				append(d.cpu, total.cpu.Seconds()/n)
		}
	}
	for _, w := range ways {
		d := all[w.name]
		b.report.add(Stream, name+"drained/"+w.name, drainRounds, map[string]float64{"nodes/s": median(d.rates),
			"B/node": median(d.bytes), "CPU-s/Mnode": median(d.cpu) * 1e6})
	}
	return all, nil
}

// compared reports how much of another way's rate one way has, and the same by CPU time.
func (b *suite) compared(name string, spent map[string]*drains, one, other way) {
	a, c := spent[one.name], spent[other.name]
	b.report.add(Stream, name+one.name+"-of-"+other.name, drainRounds, map[string]float64{
		"share": median(quotients(a.rates, c.rates)), "CPU share": median(quotients(c.cpu, a.cpu))})
}

// loaded measures the consumer's highest rate while this process sends arrivals, and latencies at shares of that rate.
func (b *suite) loaded(ctx context.Context, s *streams, name string, f *formRecords, ways []way) error {
	b.Progress.Live("stream " + name + "sent")
	most := newMeter(f.len())
	if err := s.sent(ctx, consuming, f, most, 0); err != nil {
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
	for _, load := range slices.Sorted(maps.Keys(paces)) {
		pace := paces[load]
		n := min(f.len(), max(1_000, int(pace*10*b.Time.Seconds())))
		for _, w := range ways {
			m := newMeter(n)
			if err := s.sent(ctx, w, f, m, pace); err != nil {
				return err
			}
			q := m.quantiles(0.5, 0.99, 0.999)
			b.report.add(Stream, fmt.Sprintf("%ssent/%s/%s", name, load, w.name), n,
				map[string]float64{"nodes/s": m.rate(), "p50-ms": q[0], "p99-ms": q[1], "p99.9-ms": q[2]})
		}
	}
	return nil
}

// sent lets a way answer arrivals while they are sent.
func (s *streams) sent(ctx context.Context, w way, f *formRecords, m *meter, pace float64) error {
	in, err := s.topics.topic(ctx, "paced")
	if err != nil {
		return err
	}
	err = s.travel(ctx, w, &journey{form: f, in: in}, m, &sender{sink: s.sink, topic: in, form: f, meter: m, pace: pace})
	return errors.Join(err, s.topics.drop(ctx, in))
}

// patience is the time that a stream may take.
const patience = 2 * time.Minute

// travel takes a stream along a way until all of it is delivered; by sends it meanwhile, nil if it has been sent.
func (s *streams) travel(ctx context.Context, w way, j *journey, m *meter, by *sender) (err error) {
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
	err = w.travel(traveling, s, j, m)
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

// ended returns err, unless ctx has ended: the stream's end cancels ctx once all of it was seen.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// consume is the consumer as production runs it, in this process.
func (s *streams) consume(ctx context.Context, j *journey, m *meter, delivery string) error {
	cfg := s.settings(j)
	cfg.Delivery = delivery
	return run.Consumer(ctx, cfg, slog.New(slog.DiscardHandler), m)
}
