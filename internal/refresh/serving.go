package refresh

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/internal/kafka"
	"rivulet/mapping"
	"rivulet/serving"
)

// lookupTimeout bounds one request for rows of M.
const lookupTimeout = 2 * time.Second

// serving returns the version that serves now, nil if there is none; release releases it.
func (r *Refresher) serving(ctx context.Context) (v *serving.Version, release func(), err error) {
	release = func() {}
	if r.Current != "" {
		b, err := artifact.Read(r.Current)
		if err != nil {
			return nil, release, err
		}
		v, _, err = serving.New(b, mapping.FromArtifact(b.Mapping), serving.Options{})
		return v, release, err
	}
	if !r.ToRedis {
		return nil, release, nil
	}
	client, prefix, err := r.Services.Redis()
	if err != nil {
		return nil, release, err
	}
	v, let, err := r.current(ctx, client, prefix)
	if v == nil {
		_ = client.Close()
		return nil, release, err
	}
	return v, func() {
		let()
		_ = client.Close()
	}, nil
}

// current returns the version that CURRENT names, nil if it names none, and keeps it from being removed until let is
// called.
func (r *Refresher) current(ctx context.Context, client redis.UniversalClient, prefix string) (v *serving.Version, let func(), err error) {
	p, err := serving.NewPublisher(client, prefix)
	if err != nil {
		return nil, nil, err
	}
	if name, err := p.Current(ctx); err != nil || name == "" {
		return nil, nil, err
	}
	w, err := serving.NewWatcher(client, serving.WatcherOptions{Prefix: prefix, Consumer: "refresh", LookupTimeout: lookupTimeout,
		Clock: kafka.SystemClock{}, Log: r.Log})
	if err != nil {
		return nil, nil, err
	}
	err = w.Load(ctx)
	holding, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { // its heartbeat protects the version until it ends
		defer close(ended)
		_ = w.Run(holding) // nil once its context has ended
	}()
	let = func() {
		stop()
		<-ended
	}
	if err != nil {
		let()
		return nil, nil, fmt.Errorf("reading the version that CURRENT names: %w", err)
	}
	return w.Current(), let, nil
}
