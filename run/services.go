package run

import (
	"context"
	"log/slog"
	"sync"

	"rivulet/config"
	"rivulet/event"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/mapping"
)

// Services opens connections as settings say.
type Services struct {
	Brokers config.Brokers
	Server  config.RedisServer
	Log     *slog.Logger
}

// Limits returns the limits of records that settings name, for consumers and for a refresh.
func Limits(l config.Limits) event.Limits {
	return event.Limits{Edges: l.Edges, RecordBytes: int(l.RecordBytes), IDBytes: int(l.IDBytes)}
}

// Reader returns a reader of a topic, with the offsets of a group if that is not empty. end closes its connections.
func (s Services) Reader(topic, group string) (r *kafka.Reader, end func(), err error) {
	return openReader(s.Brokers, kafka.ReaderOptions{Topic: topic, Group: group}, retry.Patience{Logger: s.Log})
}

// openReader makes a reader with connections of its own, which end closes.
func openReader(b config.Brokers, o kafka.ReaderOptions, wait retry.Patience) (r *kafka.Reader, end func(), err error) {
	client, err := ConnectKafka(b, o.Topic)
	if err != nil {
		return nil, nil, err
	}
	if r, err = kafka.NewReader(client, o, wait); err != nil {
		return nil, nil, err
	}
	return r, client.Close, nil
}

// Redis returns a client that the caller closes, and the prefix of all keys.
func (s Services) Redis() (mapping.Client, string, error) {
	client, err := ConnectRedis(s.Server)
	return client, s.Server.Prefix, err
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

// startVital starts a service without which the program cannot go on. If the service ends with an error, failed is
// called with it.
func (s *services) startVital(ctx context.Context, failed context.CancelCauseFunc, f func(context.Context) error) {
	s.start(ctx, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil {
			failed(err)
		}
		return err
	})
}

// end ends all services and waits for them; failed is the first error then.
func (s *services) end() {
	for _, cancel := range s.cancels {
		cancel()
	}
	s.wait.Wait()
}
