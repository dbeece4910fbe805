package run

import (
	"context"
	"sync"

	"rivulet/config"
	"rivulet/event"
)

// Limits returns the limits of records that settings name, for consumers and for a refresh.
func Limits(l config.Limits) event.Limits {
	return event.Limits{Edges: l.Edges, RecordBytes: int(l.RecordBytes), IDBytes: int(l.IDBytes)}
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
