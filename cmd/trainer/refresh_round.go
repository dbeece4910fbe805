package main

import (
	"context"
	"fmt"
	"io"

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

// refreshed is what refresh prints of one.
type refreshed struct {
	Merged    merge.Report `json:"merged"`
	Nodes     int          `json:"nodes"` // N of the graph that was trained on
	Artifact  string       `json:"artifact,omitempty"`
	Version   string       `json:"artifact_version,omitempty"`
	Before    string       `json:"before,omitempty"` // version that it was compared with
	Accuracy  *float64     `json:"validation,omitempty"`
	Was       *float64     `json:"validation_before,omitempty"`
	Data      string       `json:"data,omitempty"` // directory of the data set with its arrivals
	Published bool         `json:"published"`
}

func (o *refreshed) print(w io.Writer) error {
	if err := o.Merged.Print(w); err != nil {
		return err
	}
	if o.Artifact == "" {
		_, err := fmt.Fprintln(w, "nothing new: no artifact was made")
		return err
	}
	fmt.Fprintf(w, "artifact %s of %d nodes in %s\n", o.Version, o.Nodes, o.Artifact)
	if o.Accuracy != nil {
		fmt.Fprintf(w, "validation: %.2f%%", *o.Accuracy)
		if o.Was != nil {
			fmt.Fprintf(w, ", %s has %.2f%%", o.Before, *o.Was)
		}
		fmt.Fprintln(w)
	}
	if o.Data != "" {
		fmt.Fprintf(w, "data with arrivals in %s\n", o.Data)
	}
	if o.Published {
		fmt.Fprintf(w, "%s is CURRENT\n", o.Version)
	}
	return nil
}

// once merges, trains, compares and publishes. What it returns beside an error is how far it came.
func (r *refresher) once(ctx context.Context, out, dataOut string) (*refreshed, error) {
	m := merge.New(r.data)
	next, err := r.read(ctx, m)
	if err != nil {
		return nil, err
	}
	grown, report := m.Dataset()
	o := &refreshed{Merged: report, Nodes: len(grown.Train) + len(grown.Unlabelled)}
	if report.Joined == 0 && report.NewLabels == 0 {
		return o, nil
	}
	was, release, err := r.serving(ctx)
	if err != nil {
		return o, err
	}
	defer release()
	var manifest *artifact.Manifest
	if was != nil {
		manifest = was.Manifest()
	}
	options, err := r.options(manifest)
	if err != nil {
		return o, err
	}
	outcome, err := trainer.Train(ctx, grown, options, r.now(), r.lines)
	if err != nil {
		return o, err
	}
	if err := makeParent(out); err != nil {
		return o, err
	}
	if err := artifact.Write(out, outcome.Bundle); err != nil {
		return o, err
	}
	o.Artifact, o.Version = out, outcome.Bundle.Manifest.Version
	if err := r.compare(ctx, grown, outcome.Bundle, was, options.Batch, o); err != nil {
		return o, err
	}
	if dataOut != "" {
		if err := makeParent(dataOut); err != nil {
			return o, err
		}
		if err := grown.Save(dataOut); err != nil {
			return o, err
		}
		o.Data = dataOut
	}
	if r.publish {
		if err := r.publishBundle(ctx, outcome.Bundle, was); err != nil {
			return o, err
		}
		o.Published = true
	}
	r.data = grown
	if r.current != "" {
		r.current = out // what the next one is compared with
	}
	return o, r.commit(ctx, next)
}

// compare notes what the new artifact reaches beside the one that answers now, and refuses one that is too much worse.
func (r *refresher) compare(ctx context.Context, grown *dataset.Dataset, b *artifact.Bundle, was *serving.Version, size int, o *refreshed) error {
	is, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), serving.Options{})
	if err != nil {
		return err
	}
	var answers trainer.Served // no nil pointer in an interface
	if was != nil {
		answers = was
	}
	c, err := trainer.CompareServed(ctx, grown, is, answers, size)
	if err != nil {
		return err
	}
	o.Accuracy, o.Was = &c.Validation, c.Before
	if was != nil {
		o.Before = was.ID()
	}
	if c.Worse(r.maxDrop) {
		return fmt.Errorf("%s is refused: %.2f%% on the validation nodes is more than %g points below the %.2f%% of %s",
			o.Version, c.Validation, r.maxDrop, *c.Before, o.Before)
	}
	return nil
}

// serving is the artifact that answers now, nil where there is none; release lets go of it.
func (r *refresher) serving(ctx context.Context) (v *serving.Version, release func(), err error) {
	release = func() {}
	if r.current != "" {
		b, err := artifact.Read(r.current)
		if err != nil {
			return nil, release, err
		}
		v, _, err = serving.New(b, mapping.FromArtifact(b.Mapping), serving.Options{})
		return v, release, err
	}
	if !r.publish {
		return nil, release, nil
	}
	client, err := app.ConnectRedis(r.cfg.Redis)
	if err != nil {
		return nil, release, err
	}
	defer func() {
		if v == nil {
			_ = client.Close()
		}
	}()
	p, err := serving.NewPublisher(client, r.cfg.Redis.Prefix)
	if err != nil {
		return nil, release, err
	}
	if name, err := p.Current(ctx); err != nil || name == "" {
		return nil, release, err
	}
	defaults := config.Default[config.Redis]()
	w, err := serving.NewWatcher(client, serving.WatcherOptions{Prefix: r.cfg.Redis.Prefix, Consumer: "refresh", Interval: defaults.PollInterval,
		HoldFor: defaults.HeartbeatTTL, LookupTimeout: defaults.LookupTimeout, Clock: consumer.SystemClock{}, Log: r.log})
	if err != nil {
		return nil, release, err
	}
	holding, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	err = w.Load(ctx)
	go func() { // the heartbeat keeps the version while it is compared with
		defer close(ended)
		_ = w.Run(holding) // nil once its context has ended
	}()
	end := func() {
		stop()
		<-ended
	}
	if err != nil {
		end()
		return nil, release, fmt.Errorf("reading the version that CURRENT names: %w", err)
	}
	v = w.Current()
	return v, func() {
		end()
		_ = client.Close()
	}, nil
}

// publishBundle makes an artifact CURRENT, where that still names the one it was compared with.
func (r *refresher) publishBundle(ctx context.Context, b *artifact.Bundle, was *serving.Version) error {
	o := serving.PublishOptions{Keep: r.keep, Progress: func(done, total int) { r.lines.Step("publishing rows of M", done, total) }}
	if was != nil && r.current == "" {
		expect := was.ID()
		o.Expect = &expect
	}
	return withRedis(ctx, r.cfg.Redis, func(ctx context.Context, p *serving.Publisher) error { return p.Publish(ctx, b, o) })
}

// commit stores how far the arrivals have been merged.
func (r *refresher) commit(ctx context.Context, next map[event.TopicPartition]int64) error {
	if r.group == "" || len(next) == 0 {
		return nil
	}
	from, err := parseSource(r.from)
	if err != nil {
		return err
	}
	return r.withTopic(from.topic, r.group, func(t *consumer.Reader) error { return t.Commit(ctx, next) })
}
