package refresh

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rivulet/artifact"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/durable"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/trainer"
)

// Services opens the services that a refresh uses, for as long as it needs them.
type Services interface {
	// Reader returns a reader of a topic, with the offsets of a group if that is not empty. end closes its connections.
	Reader(topic, group string) (r *kafka.Reader, end func(), err error)
	// Redis returns a client that the caller closes, and the prefix of all keys.
	Redis() (client mapping.Client, prefix string, err error)
}

// Refresher makes one artifact after another.
type Refresher struct {
	Graph    *Graph // to go on from; Publish replaces it by the one with the arrivals
	Arrivals Source
	Labels   Source // zero: none
	Services Services

	Forms    read.Reader           // of arrivals and labels
	Registry consumer.Registry     // has the schemas of Forms; nil: there is none
	Features consumer.FeatureStore // features for records without them; nil: these are refused
	// IgnoreUnknown passes over features whose names the schema does not have, as the consumers do; else the arrival is
	// refused.
	IgnoreUnknown bool
	// RefitSchema fits the schema anew on the graph with its arrivals, which moves positions; else it is kept.
	RefitSchema bool
	// Check, if set, checks a trained model before it is written. Its error ends the round.
	Check  func(context.Context, *trainer.Outcome) error
	Limits event.Limits // the consumers': dead letters there do not become nodes
	// Forget are ids that the first round takes out of the graph, whenever they came.
	Forget  []string
	Waiting int // most edges to ids that have not arrived that are kept; 0: none
	// UpdateFeatures gives a node the features of the last arrival with its id; else its first ones stay.
	UpdateFeatures bool

	// Current is the directory of the artifact to compare with, which Publish replaces; empty: the version that
	// CURRENT names, if ToRedis.
	Current string
	ToRedis bool               // publish the artifact
	Keep    int                // older versions to keep for rolling back; below 0: all
	Sign    ed25519.PrivateKey // signs what is published; nil: nobody does
	MaxDrop float64
	// Options returns the options of the training, given the manifest of the artifact to compare with;
	// nil: there is none.
	Options  func(current *artifact.Manifest) (trainer.Options, error)
	Progress trainer.Progress
	Log      *slog.Logger
	Now      func() time.Time
	Disk     durable.Disk

	doing string // now
	anew  bool   // train although nothing is new
}

// Next is a whole round: it finishes an earlier round's undone steps, makes an artifact in the directory out (empty: it
// is not written), and publishes it with the graph in the directory dataOut (empty: the graph is not stored). The
// report describes the steps that were done; nil: none was. An artifact that is too much worse is a [*Refused]. If ctx
// ends, the error is a [*Stopped].
func (r *Refresher) Next(ctx context.Context, out, dataOut string) (*Report, error) {
	finished, err := r.Finish(ctx)
	refused := errors.As(err, new(*Refused)) // with new arrivals it may become better
	if err != nil && !refused {
		return finished, err
	}
	o := &round{Refresher: r, refused: refused}
	failed := o.run(ctx, out, dataOut)
	switch {
	case o.grown == nil: // nothing was read
		return finished, r.stopped(ctx, finished, failed)
	case failed == nil && o.bundle == nil && refused:
		return finished, err
	case finished != nil && !refused:
		o.Report.add(finished)
	}
	return &o.Report, r.stopped(ctx, &o.Report, failed)
}

// Finish does the undone steps of an earlier round, and reads nothing. The report is nil if none was undone.
func (r *Refresher) Finish(ctx context.Context) (*Report, error) {
	r.doing = "finishing the last refresh"
	report, err := r.finish(ctx)
	return report, r.stopped(ctx, report, err)
}

// step notes what is done, for errors and for whoever watches, and does it.
func (r *Refresher) step(doing string, do func() error) error {
	r.doing = doing
	r.Progress.Step(doing, 0, 1)
	defer r.Progress.Step(doing, 1, 1)
	return do()
}

// Stopped is the error of a refresh that was stopped from outside.
type Stopped struct {
	Doing string // the step that was stopped
	Left  string // the finished steps, and the next refresh's first action
	cause error
}

func (e *Stopped) Error() string { return fmt.Sprintf("stopped while %s: %s", e.Doing, e.Left) }

// Unwrap returns the error of the context.
func (e *Stopped) Unwrap() error { return e.cause }

// stopped turns the error of a context that has ended into a [*Stopped].
func (r *Refresher) stopped(ctx context.Context, o *Report, err error) error {
	if err == nil || ctx.Err() == nil || errors.As(err, new(*Stopped)) {
		return err
	}
	return &Stopped{Doing: r.doing, Left: o.left(), cause: ctx.Err()}
}
