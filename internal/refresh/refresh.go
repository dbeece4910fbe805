package refresh

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/internal/kafka"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/trainer"
	"rivulet/trainer/merge"
)

// Services opens the services that a refresh uses, for as long as it needs them.
type Services interface {
	// Reader returns a reader of a topic, with the offsets of a group if that is not empty. end closes its connections.
	Reader(topic, group string) (r *kafka.Reader, end func(), err error)
	// Redis returns a client that the caller closes, and the prefix of all keys.
	Redis() (client redis.UniversalClient, prefix string, err error)
}

// Refresher makes one artifact after another.
type Refresher struct {
	Data     *dataset.Dataset // to train on; Publish replaces it by the one with the arrivals
	Arrivals Source
	Labels   Source // zero: none
	Services Services

	// Current is the directory of the artifact to compare with, which Publish replaces; empty: the version that
	// CURRENT names, if ToRedis.
	Current string
	ToRedis bool // publish the artifact
	Keep    int  // older versions to keep for rolling back; below 0: all
	MaxDrop float64
	// Options returns the options of the training, given the manifest of the artifact to compare with; nil: there is none.
	Options func(current *artifact.Manifest) (trainer.Options, error)

	Progress trainer.Progress
	Log      *slog.Logger
	Now      func() time.Time
}

// Round is the state of one refresh.
type Round struct {
	Report  Report
	Bundle  *artifact.Bundle // the new artifact, sealed; nil: there was nothing new
	Seconds float64          // of the training, wall clock

	grown  *dataset.Dataset
	expect *string       // version that CURRENT must name
	next   kafka.Offsets // offsets of the group
}

// Make reads, merges, trains and compares. out is the directory to write the artifact to; empty: it is not written.
// The round of an error describes the steps before it; nil: nothing was read. An artifact that is too much worse is a
// [*Refused].
func (r *Refresher) Make(ctx context.Context, out string) (*Round, error) {
	m := merge.New(r.Data)
	next, err := r.read(ctx, m)
	if err != nil {
		return nil, err
	}
	grown, merged := m.Dataset()
	round := &Round{grown: grown, next: next, Report: Report{Merged: merged, Nodes: len(grown.Train) + len(grown.Unlabelled)}}
	if merged.Joined == 0 && merged.NewLabels == 0 {
		return round, nil
	}
	was, release, err := r.serving(ctx)
	if err != nil {
		return round, err
	}
	defer release()
	var manifest *artifact.Manifest
	if was != nil {
		manifest = was.Manifest()
		if r.Current == "" {
			id := was.ID()
			round.expect = &id
		}
	}
	options, err := r.Options(manifest)
	if err != nil {
		return round, err
	}
	outcome, err := trainer.Train(ctx, grown, options, r.Now(), r.Progress)
	if err != nil {
		return round, err
	}
	round.Seconds = outcome.Seconds
	if err := round.keep(outcome.Bundle, out); err != nil {
		return round, err
	}
	return round, r.compare(ctx, round, was, options.Batch)
}

// keep writes or seals the new artifact.
func (o *Round) keep(b *artifact.Bundle, out string) (err error) {
	if out == "" {
		err = b.Seal()
	} else if err = makeParent(out); err == nil {
		err = artifact.Write(out, b)
	}
	if err == nil {
		o.Bundle, o.Report.Artifact, o.Report.Version = b, out, b.Manifest.Version
	}
	return err
}

// makeParent makes the directory that will contain another one.
func makeParent(dir string) error { return os.MkdirAll(filepath.Dir(dir), 0o777) }

// Refused is the error of an artifact that is too much worse than the one that serves.
type Refused struct {
	Version, Before string
	Accuracy, Was   float64 // on the validation nodes, in percent
	MaxDrop         float64 // points that Accuracy may be below Was
}

func (e *Refused) Error() string {
	return fmt.Sprintf("%s is refused: %.2f%% on the validation nodes is more than %g points below the %.2f%% of %s",
		e.Version, e.Accuracy, e.MaxDrop, e.Was, e.Before)
}

// compare measures the new artifact and the one that serves now on the validation nodes, and refuses the new one if
// it is too much worse.
func (r *Refresher) compare(ctx context.Context, o *Round, was *serving.Version, batch int) error {
	is, _, err := serving.New(o.Bundle, mapping.FromArtifact(o.Bundle.Mapping), serving.Options{})
	if err != nil {
		return err
	}
	var answers trainer.Served // no nil pointer in an interface
	if was != nil {
		answers = was
		o.Report.Before = was.ID()
	}
	c, err := trainer.CompareServed(ctx, o.grown, is, answers, batch)
	if err != nil {
		return err
	}
	o.Report.Accuracy, o.Report.Was = &c.Validation, c.Before
	if c.Worse(r.MaxDrop) {
		return &Refused{Version: o.Report.Version, Before: o.Report.Before, Accuracy: c.Validation, Was: *c.Before, MaxDrop: r.MaxDrop}
	}
	return nil
}

// Publish saves the data set to dataOut, if that is not empty, makes the artifact CURRENT if ToRedis, and last
// commits the group's offsets. If the round had nothing new it does nothing.
func (r *Refresher) Publish(ctx context.Context, o *Round, dataOut string) error {
	if o.Bundle == nil {
		return nil
	}
	if dataOut != "" {
		if err := makeParent(dataOut); err != nil {
			return err
		}
		if err := o.grown.Save(dataOut); err != nil {
			return err
		}
		o.Report.Data = dataOut
	}
	if r.ToRedis {
		if err := r.toRedis(ctx, o); err != nil {
			return err
		}
		o.Report.Published = true
	}
	r.Data = o.grown
	if r.Current != "" {
		r.Current = o.Report.Artifact
	}
	return r.commit(ctx, o.next)
}

// toRedis makes the artifact CURRENT, if that still names the version it was compared with.
func (r *Refresher) toRedis(ctx context.Context, o *Round) error {
	client, prefix, err := r.Services.Redis()
	if err != nil {
		return err
	}
	defer client.Close()
	p, err := serving.NewPublisher(client, prefix)
	if err != nil {
		return err
	}
	return p.Publish(ctx, o.Bundle, serving.PublishOptions{Keep: r.Keep, Expect: o.expect,
		Progress: func(done, total int) { r.Progress.Step("publishing rows of M", done, total) }})
}
