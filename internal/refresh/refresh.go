package refresh

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"rivulet/artifact"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/durable"
	"rivulet/kafka"
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
	gone  int64  // records that the topic has lost before they were read
}

// Round is the state of one refresh.
type Round struct {
	Report  Report
	Bundle  *artifact.Bundle // the new artifact, sealed; nil: there was nothing new
	Seconds float64          // of the training, wall clock

	grown  *Graph        // of a round that has merged without Dir and State
	expect *string       // version that CURRENT must name
	next   kafka.Offsets // offsets of the group
}

// Next is a whole round: it finishes an earlier round's undone steps, makes an artifact in the directory out, and
// publishes it with the graph in the directory dataOut; empty: the graph is not stored. The report describes the steps
// that were done; nil: none was. If ctx ends, the error is a [*Stopped].
func (r *Refresher) Next(ctx context.Context, out, dataOut string) (*Report, error) {
	finished, err := r.Finish(ctx)
	refused := errors.As(err, new(*Refused)) // with new arrivals it may become better
	if err != nil && !refused {
		return finished, err
	}
	round, failed := r.Make(ctx, out, dataOut)
	if round == nil {
		return finished, r.stopped(ctx, finished, failed)
	}
	if failed == nil && round.Bundle == nil && refused {
		return finished, err
	}
	if finished != nil && !refused {
		round.Report.add(finished)
	}
	if failed == nil {
		failed = r.Publish(ctx, round, dataOut)
	}
	return &round.Report, r.stopped(ctx, &round.Report, failed)
}

// Finish does the undone steps of an earlier round, and reads nothing. The report is nil if none was undone.
func (r *Refresher) Finish(ctx context.Context) (*Report, error) {
	r.doing = "finishing the last refresh"
	report, err := r.finish(ctx)
	return report, r.stopped(ctx, report, err)
}

// Make reads, merges, trains and compares. out is the directory to write the artifact to; empty: it is not written.
// The round of an error describes the steps before it; nil: nothing was read. An artifact that is too much worse is a
// [*Refused].
func (r *Refresher) Make(ctx context.Context, out, dataOut string) (round *Round, err error) {
	if err := r.encode(ctx); err != nil {
		return nil, err
	}
	round = &Round{}
	if err := r.merge(ctx, round); err != nil {
		return nil, err
	}
	if !round.Report.Merged.Changed() && !r.anew {
		return round, nil
	}
	return round, r.make(ctx, round, out)
}

// merge reads the new arrivals and labels, and merges them.
func (r *Refresher) merge(ctx context.Context, round *Round) (err error) {
	m := merge.New(r.Graph.Dataset)
	m.MaxWaiting, m.UpdateFeatures = r.Waiting, r.UpdateFeatures
	r.doing, r.gone = "reading arrivals", 0
	r.Progress.Step(r.doing, 0, 1)
	if round.next, err = r.read(ctx, m); err != nil {
		return err
	}
	r.Progress.Step(r.doing, 1, 1)
	r.doing = "merging"
	r.Progress.Step(r.doing, 0, 1)
	defer func() { r.Progress.Step("merging", 1, 1) }()
	round.grown = &Graph{}
	if round.grown.Dataset, round.Report.Merged, err = m.Grow(ctx, r.anew); err != nil {
		return err
	}
	round.Report.Nodes, round.Report.Gone = round.grown.nodesOfT(), r.gone
	return nil
}

// make trains, writes and compares.
func (r *Refresher) make(ctx context.Context, round *Round, out string) error {
	r.doing = "training"
	was, release, err := r.serving(ctx)
	if err != nil {
		return err
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
		return err
	}
	if options.Keep, err = r.keptSchema(was); err != nil {
		return err
	}
	if r.RefitSchema {
		if err := round.refit(&options); err != nil {
			return err
		}
	}
	if err := r.train(ctx, round, options, out); err != nil {
		return err
	}
	r.doing = "comparing with the artifact that serves"
	r.Progress.Step(r.doing, 0, 1)
	err = r.compare(ctx, round, was, options.Batch)
	r.Progress.Step(r.doing, 1, 1)
	return err
}

// train trains on the grown graph, and writes the artifact.
func (r *Refresher) train(ctx context.Context, round *Round, o trainer.Options, out string) error {
	keep := func(outcome *trainer.Outcome) error {
		round.Seconds = outcome.Seconds
		if r.Check != nil {
			if err := r.Check(ctx, outcome); err != nil {
				return err
			}
		}
		r.doing = "writing the artifact"
		r.Progress.Step(r.doing, 0, 1)
		defer r.Progress.Step(r.doing, 1, 1)
		return round.keep(outcome.Bundle, out)
	}
	outcome, err := trainer.Train(ctx, round.grown.Dataset, o, r.Now(), r.Progress)
	if err != nil {
		return err
	}
	return keep(outcome)
}

// keep writes or seals the new artifact.
func (o *Round) keep(b *artifact.Bundle, out string) (err error) {
	switch {
	case out != "":
		if err = os.MkdirAll(filepath.Dir(out), 0o777); err == nil {
			err = artifact.Write(out, b)
		}
	default:
		if err = b.LoadMapping(); err == nil {
			err = b.Seal()
		}
	}
	if err == nil {
		o.Bundle, o.Report.Artifact, o.Report.Version = b, out, b.Manifest.Version
	}
	return err
}

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
	is, _, err := serving.New(o.Bundle, mapping.FromBundle(o.Bundle), serving.Options{})
	if err != nil {
		return err
	}
	if was != nil {
		o.Report.Before = was.ID()
	}
	questions, err := ask(o.grown.Dataset, is, was)
	if err != nil {
		return err
	}
	now, err := questions.score(ctx, is, batch)
	if err != nil {
		return err
	}
	if o.Report.Accuracy = &now; was == nil {
		return nil
	}
	if questions.nodes, err = o.positions(questions.nodes, was); err != nil {
		return err
	}
	earlier, err := questions.score(ctx, was, batch)
	if err != nil {
		return fmt.Errorf("the artifact that answers now: %w", err)
	}
	if o.Report.Was = &earlier; now < earlier-r.MaxDrop {
		return &Refused{Version: o.Report.Version, Before: o.Report.Before, Accuracy: now, Was: earlier, MaxDrop: r.MaxDrop}
	}
	return nil
}

// Publish stores the graph in the directory dataOut, if that is not empty, makes the artifact CURRENT if
// ToRedis, and last commits the group's offsets. If the round had nothing new, it only stores and
// commits how far it has read.
func (r *Refresher) Publish(ctx context.Context, o *Round, dataOut string) (err error) {
	if o.Bundle == nil {
		return r.readOn(ctx, o)
	}
	g := &Graph{Dataset: o.grown.Dataset, State: r.Graph.State}
	g.State.Round++
	g.State.Version, g.State.Artifact, g.State.Topic, g.State.Next = o.Report.Version, "", r.Arrivals.Topic,
		partitions(o.next)
	if dataOut != "" {
		r.doing, g.Dir = "storing the graph", dataOut
		if g.State.Artifact, err = relative(dataOut, o.Report.Artifact); err != nil {
			return err
		}
		if err := g.save(r.Disk); err != nil {
			return err
		}
		o.Report.Data = dataOut
		r.Graph, r.anew = g, false // an error from here on leaves a graph to finish
	}
	if r.ToRedis {
		if err := r.toRedis(ctx, o, g); err != nil {
			return err
		}
	}
	if dataOut == "" {
		r.Graph = g
	}
	if r.Current != "" {
		r.Current = o.Report.Artifact
	}
	r.Forget = nil
	r.doing = "committing offsets"
	o.Report.Committed, err = r.commit(ctx, o.next)
	return err
}

// readOn stores and commits that there was nothing new up to some offsets; a graph that is stored nowhere knows
// nothing of offsets.
func (r *Refresher) readOn(ctx context.Context, o *Round) (err error) {
	if r.Graph.Dir == "" || r.Graph.State.Version == "" || r.Arrivals.Group == "" ||
		maps.Equal(partitions(o.next), r.Graph.State.Next) {
		return nil
	}
	r.doing = "committing offsets"
	if err := r.Graph.advance(r.Disk, o.next); err != nil {
		return err
	}
	o.Report.Committed, err = r.commit(ctx, o.next)
	return err
}

// relative returns the path of the artifact as seen from the graph's directory, so that both may be moved together.
func relative(graph, artifact string) (string, error) {
	if artifact == "" {
		return "", nil
	}
	from, err := filepath.Abs(graph)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(artifact)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		return rel, nil
	}
	return to, nil
}

// toRedis makes the artifact CURRENT, if that still names the version it was compared with, and stores that with the
// graph.
func (r *Refresher) toRedis(ctx context.Context, o *Round, g *Graph) error {
	r.doing = "publishing"
	p, done, err := r.publisher()
	if err != nil {
		return err
	}
	defer done()
	err = p.Publish(ctx, o.Bundle, serving.PublishOptions{Keep: r.Keep, Sign: r.Sign, Expect: o.expect,
		OtherData: r.RefitSchema,
		Progress:  func(done, total int) { r.Progress.Step("publishing rows of M", done, total) }})
	if err != nil {
		return err
	}
	o.Report.Published = true
	if g.Dir == "" {
		return nil
	}
	return g.publish(r.Disk)
}
