package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/internal/app"
	"rivulet/internal/refresh"
	"rivulet/trainer"
	"rivulet/trainer/merge"
)

// Refresh holds the figures of a refresh in mid-stream.
type Refresh struct {
	Arrivals int    `json:"arrivals"` // merged arrivals: the first half of the stream
	Labelled int    `json:"labelled"` // of these, with a class: withheld training nodes
	Nodes    int    `json:"nodes"`    // of T with them
	Version  string `json:"artifact_version"`
	// accuracy in percent of the new artifact on the validation nodes, as it serves
	Validation       float64 `json:"validation"`
	ValidationBefore float64 `json:"validation_before"` // the same for the artifact that served
	TrainSeconds     float64 `json:"train_seconds"`     // wall clock, beside the stream
	// Refused says that the new artifact was more than a point worse, and was not published.
	Refused bool `json:"refused"`
}

// refresher runs a round of package refresh in mid-stream, on the arrivals and labels of the first half.
type refresher struct {
	plan   *plan
	cfg    config.Consumer
	tally  *tally
	labels *labeller
	log    *slog.Logger

	trained chan struct{} // closed when the new artifact is about to be published
	serves  chan struct{} // closed when it serves
	done    Refresh
	bundle  *artifact.Bundle // the new one; nil: it was refused
}

// run refreshes once the first half of the stream has been predicted and its labels are known, and then waits for
// ctx.
func (r *refresher) run(ctx context.Context) error {
	if err := r.refresh(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("refreshing in mid-stream: %w", err)
	}
	<-ctx.Done()
	return nil
}

func (r *refresher) refresh(ctx context.Context) error {
	half := len(r.plan.order) / 2 // arrivals before the refresh
	if err := until(ctx, func() bool {
		return r.tally.hasFirst(half, r.plan) && r.labels.has(r.plan.ids[:half])
	}, nil); err != nil {
		return err
	}
	// The topics hold more by now, and how much depends on the clock: later records are left to the next refresh.
	graph, err := refresh.NewGraph("", r.plan.base)
	if err != nil {
		return err
	}
	next := &refresh.Refresher{Graph: graph, Waiting: merge.DefaultWaiting, ToRedis: true, MaxDrop: refresh.MaxDrop,
		Options: func(m *artifact.Manifest) (trainer.Options, error) { return trainer.Inherit(m, nil) },
		Arrivals: refresh.Source{Topic: r.cfg.Kafka.Topics.Arrivals,
			Until: r.tally.endOfFirst(half, r.plan)},
		Labels: refresh.Source{Topic: labelsTopic}, Limits: app.Limits(r.cfg.Limits),
		Services: app.Services{Brokers: r.cfg.Kafka.Brokers, Server: r.cfg.Redis.RedisServer, Log: r.log},
		Progress: trainer.Silent{}, Log: r.log, Now: time.Now}
	round, err := next.Make(ctx, "", "")
	r.done.Refused = errors.As(err, new(*refresh.Refused))
	if err != nil && !r.done.Refused {
		return err
	}
	did := round.Report
	r.done.Arrivals, r.done.Labelled, r.done.Nodes = did.Merged.Joined, did.Merged.Labelled, did.Nodes
	r.done.Version, r.done.Validation, r.done.ValidationBefore = did.Version, *did.Accuracy, *did.Was
	r.done.TrainSeconds = round.Seconds
	close(r.trained)
	if r.done.Refused {
		close(r.serves)
		return nil
	}
	r.bundle = round.Bundle
	if err := next.Publish(ctx, round, ""); err != nil {
		return err
	}
	if err := until(ctx, func() bool { return r.tally.serves() == did.Version }, nil); err != nil {
		return err
	}
	close(r.serves)
	return nil
}
