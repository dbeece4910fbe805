package demo

import (
	"context"
	"fmt"
	"time"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/internal/app"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/trainer"
	"rivulet/trainer/merge"
)

// Refresh is what a refresh in mid-stream did.
type Refresh struct {
	Arrivals         int     `json:"arrivals"` // that were merged: the first half of the stream
	Labelled         int     `json:"labelled"` // of these, with a class: withheld training nodes
	Nodes            int     `json:"nodes"`    // of T with them
	Version          string  `json:"artifact_version"`
	Validation       float64 `json:"validation"`        // accuracy in percent of the new artifact on the validation nodes, as it serves
	ValidationBefore float64 `json:"validation_before"` // the same of the one that served
	TrainSeconds     float64 `json:"train_seconds"`     // wall clock, beside the stream
	// Refused says that the new artifact was more than a point worse, and was not published.
	Refused bool `json:"refused"`
}

// refresher does in mid-stream what trainer refresh does: it reads arrivals and labels from their topics, merges them into T,
// trains with the options of the artifact that serves, compares, and publishes.
type refresher struct {
	plan    *plan
	base    *artifact.Bundle // that serves
	cfg     config.Consumer
	answers *answers
	labels  *labeller
	o       Options

	trained chan struct{} // closed when the new artifact is about to be published
	serves  chan struct{} // closed when it serves
	done    Refresh
	bundle  *artifact.Bundle // the new one; nil where it was refused
}

// half is how many arrivals come before the refresh.
func (p *plan) half() int { return len(p.order) / 2 }

// run refreshes once the first half of the stream has been predicted and its labels are known, and then waits for ctx.
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
	half := r.plan.half()
	if err := until(ctx, func() bool { return r.answers.hasFirst(half) && r.labels.has(r.plan.ids[:half]) }); err != nil {
		return err
	}
	grown, report, err := r.merge(ctx)
	if err != nil {
		return err
	}
	r.done.Arrivals, r.done.Labelled, r.done.Nodes = report.Joined, report.Labelled, len(grown.Train)+len(grown.Unlabelled)
	if err := r.train(ctx, grown); err != nil {
		return err
	}
	close(r.trained)
	if r.done.Refused {
		close(r.serves)
		return nil
	}
	expect := r.base.Manifest.Version
	if err := publishBundle(ctx, r.cfg.Redis.RedisServer, r.bundle, serving.PublishOptions{Expect: &expect}); err != nil {
		return err
	}
	if err := until(ctx, func() bool { return r.answers.tally.serves() == r.done.Version }); err != nil {
		return err
	}
	close(r.serves)
	return nil
}

// until waits for a condition.
func until(ctx context.Context, holds func() bool) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// merge joins the first half of the stream to T. The topics hold more by now, and how much depends on the clock: what came later
// is left to the next refresh.
func (r *refresher) merge(ctx context.Context) (*dataset.Dataset, merge.Report, error) {
	first := make(map[string]bool, r.plan.half())
	for _, id := range r.plan.ids[:r.plan.half()] {
		first[id] = true
	}
	m := merge.New(r.plan.base)
	var a event.Arrival
	err := r.records(ctx, r.cfg.Kafka.Topics.Arrivals, func(value []byte) error {
		if err := (event.JSON{}).DecodeArrival(value, &a); err != nil || !first[a.ID] {
			return err
		}
		return m.Arrival(&a)
	})
	var l event.Label
	if err == nil {
		err = r.records(ctx, labelsTopic, func(value []byte) error {
			if err := (event.JSON{}).DecodeLabel(value, &l); err != nil || !first[l.ID] {
				return err
			}
			m.Label(&l)
			return nil
		})
	}
	if err != nil {
		return nil, merge.Report{}, err
	}
	grown, report := m.Dataset()
	return grown, report, nil
}

// records gives the values of all records of a topic to take.
func (r *refresher) records(ctx context.Context, topic string, take func(value []byte) error) error {
	transport, err := app.Transport(r.cfg.Kafka.Brokers, topic)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	t, err := consumer.NewReader(consumer.ReaderOptions{Brokers: r.cfg.Kafka.Brokers.Brokers, Transport: transport, Topic: topic,
		Logger: r.o.Log})
	if err != nil {
		return err
	}
	_, err = t.ToEnd(ctx, func(rec consumer.Record) error { return take(rec.Value) })
	return err
}

// train makes the new artifact and compares it with the one that serves.
func (r *refresher) train(ctx context.Context, grown *dataset.Dataset) error {
	options, err := trainer.Inherit(&r.base.Manifest)
	if err != nil {
		return err
	}
	start := time.Now()
	outcome, err := trainer.Train(ctx, grown, options, start, trainer.Silent{})
	if err != nil {
		return err
	}
	r.done.TrainSeconds = time.Since(start).Seconds()
	if err := outcome.Bundle.Seal(); err != nil {
		return err
	}
	r.done.Version = outcome.Bundle.Manifest.Version
	is, _, err := serving.New(outcome.Bundle, mapping.FromArtifact(outcome.Bundle.Mapping), serving.Options{})
	if err != nil {
		return err
	}
	was, _, err := serving.New(r.base, mapping.FromArtifact(r.base.Mapping), serving.Options{})
	if err != nil {
		return err
	}
	c, err := trainer.CompareServed(ctx, grown, is, was, options.Batch)
	if err != nil {
		return err
	}
	r.done.Validation, r.done.ValidationBefore = c.Validation, *c.Before
	if r.done.Refused = c.Worse(trainer.MaxDrop); !r.done.Refused {
		r.bundle = outcome.Bundle
	}
	return nil
}
