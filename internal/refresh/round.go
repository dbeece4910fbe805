package refresh

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"rivulet/artifact"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/trainer"
	"rivulet/trainer/features"
	"rivulet/trainer/merge"
)

// round is one refresh under way.
type round struct {
	*Refresher
	Report Report

	refused bool             // the artifact of the graph to go on from is not published, as it is too much worse
	grown   *Graph           // the graph with its arrivals; nil: they were not read yet
	bundle  *artifact.Bundle // the new artifact, sealed; nil: there was nothing new
	next    kafka.Offsets    // of the group, behind the arrivals that were read

	was     *serving.Version // the version that serves, once it was asked for; nil: there is none
	release func()           // ends the use of was; nil: it was not asked for
}

// run reads, merges, trains, compares, stores, publishes and commits. If it fails, the graph and the offsets say what
// the next round has to do: see the package documentation.
func (o *round) run(ctx context.Context, out, dataOut string) error {
	defer o.let()
	if err := o.encode(ctx); err != nil {
		return err
	}
	m := merge.New(o.Graph.Dataset)
	m.MaxWaiting, m.UpdateFeatures = o.Waiting, o.UpdateFeatures
	if err := o.step("reading arrivals", func() error { return o.read(ctx, m) }); err != nil {
		return err
	}
	if err := o.step("merging", func() error { return o.merge(ctx, m) }); err != nil {
		return err
	}
	if !o.Report.Merged.Changed() && !o.anew {
		return o.readOn(ctx)
	}
	options, err := o.options(ctx)
	if err != nil {
		return err
	}
	if err := o.train(ctx, options, out); err != nil {
		return err
	}
	if err := o.step("comparing with the artifact that serves", func() error {
		return o.compare(ctx, options.Batch)
	}); err != nil {
		return err
	}
	if err := o.store(dataOut); err != nil {
		return err
	}
	if err := o.publish(ctx); err != nil {
		return err
	}
	return o.end(ctx)
}

// serving returns the version that serves, nil if there is none. It is the same one for the whole round.
func (o *round) serving(ctx context.Context) (*serving.Version, error) {
	if o.release != nil {
		return o.was, nil
	}
	was, release, err := o.Refresher.serving(ctx)
	if err == nil {
		o.was, o.release = was, release
	}
	return was, err
}

// let ends the use of the version that serves, which others may remove then.
func (o *round) let() {
	if o.release != nil {
		o.release()
	}
	o.release = func() {}
}

// encode makes the features of a graph whose columns have names: by the schema of the version that serves, or by one
// fitted on them if nothing serves. The graph that is stored has these features.
func (o *round) encode(ctx context.Context) error {
	if o.Graph.Columns == nil {
		return nil
	}
	was, err := o.serving(ctx)
	if err != nil {
		return err
	}
	options, err := o.Options(manifestOf(was))
	if err != nil {
		return err
	}
	if was != nil {
		if options.Keep = was.Info().Schema; options.Keep == nil {
			return fmt.Errorf("the features of %s have names, and artifact %s has no schema for them", o.Graph.Name, was.ID())
		}
	}
	d, _, err := features.Encode(o.Graph.Dataset, options.Keep, options.Schema)
	if err != nil {
		return err
	}
	g := *o.Graph
	g.Dataset, o.Graph = d, &g
	return nil
}

// manifestOf returns the manifest of a version; nil of nil.
func manifestOf(v *serving.Version) *artifact.Manifest {
	if v == nil {
		return nil
	}
	return v.Manifest()
}

// merge merges what was read.
func (o *round) merge(ctx context.Context, m *merge.Merger) error {
	d, report, err := m.Grow(ctx, o.anew)
	if err != nil {
		return err
	}
	o.grown = &Graph{Dataset: d, State: o.Graph.State}
	o.Report.Merged, o.Report.Nodes = report, o.grown.NodesOfT()
	return nil
}

// readOn stores and commits that there was nothing new up to some offsets. A graph that is stored nowhere knows nothing
// of offsets, and one whose artifact was refused is not finished.
func (o *round) readOn(ctx context.Context) (err error) {
	if o.refused || o.Graph.Dir == "" || o.Graph.State.Version == "" || o.Arrivals.Group == "" ||
		maps.Equal(partitions(o.next), o.Graph.State.Next) {
		return nil
	}
	o.doing = "committing offsets"
	if err := o.Graph.advance(o.Disk, o.next); err != nil {
		return err
	}
	o.Report.Committed, err = o.commit(ctx, o.next)
	return err
}

// options returns the options of the training, with the schema of the features, which is fitted anew where that is
// asked for.
func (o *round) options(ctx context.Context) (options trainer.Options, err error) {
	o.doing = "training"
	was, err := o.serving(ctx)
	if err != nil {
		return options, err
	}
	if options, err = o.Options(manifestOf(was)); err != nil {
		return options, err
	}
	if options.Keep, err = o.keptSchema(was); err != nil || !o.RefitSchema {
		return options, err
	}
	return options, o.refit(&options)
}

// train trains on the grown graph, checks the artifact, and writes it to a directory; empty: it is in memory alone.
func (o *round) train(ctx context.Context, options trainer.Options, out string) error {
	outcome, err := trainer.Train(ctx, o.grown.Dataset, options, o.Now(), o.Progress)
	if err != nil {
		return err
	}
	if o.Check != nil {
		if err := o.Check(ctx, outcome); err != nil {
			return err
		}
	}
	b := outcome.Bundle
	err = o.step("writing the artifact", func() error {
		if out == "" {
			if err := b.LoadMapping(); err != nil {
				return err
			}
			return b.Seal()
		}
		if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
			return err
		}
		return artifact.Write(out, b)
	})
	if err == nil {
		o.bundle, o.Report.Artifact, o.Report.Version = b, out, b.Manifest.Version
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
func (o *round) compare(ctx context.Context, batch int) error {
	was, err := o.serving(ctx)
	if err != nil {
		return err
	}
	is, _, err := serving.New(o.bundle, mapping.FromBundle(o.bundle), serving.Options{})
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
	if o.Report.Was = &earlier; now < earlier-o.MaxDrop {
		return &Refused{Version: o.Report.Version, Before: o.Report.Before, Accuracy: now, Was: earlier, MaxDrop: o.MaxDrop}
	}
	return nil
}

// store stores the grown graph in a directory; empty: nowhere.
func (o *round) store(dir string) (err error) {
	g := o.grown
	g.State.Round++
	g.State.Version, g.State.Artifact, g.State.Topic, g.State.Next = o.Report.Version, "", o.Arrivals.Topic,
		partitions(o.next)
	if dir == "" {
		return nil
	}
	o.doing, g.Dir = "storing the graph", dir
	if g.State.Artifact, err = relative(dir, o.Report.Artifact); err != nil {
		return err
	}
	if err := g.save(o.Disk); err != nil {
		return err
	}
	o.Report.Data = dir
	o.Graph, o.anew = g, false // an error from here on leaves a graph to finish
	return nil
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

// publish makes the artifact CURRENT, if it is to go to Redis and if CURRENT still names the version that it was
// compared with, and stores that with the graph.
func (o *round) publish(ctx context.Context) error {
	if !o.ToRedis {
		return nil
	}
	var expect *string
	if o.was != nil && o.Current == "" {
		id := o.was.ID()
		expect = &id
	}
	o.let()
	o.doing = "publishing"
	p, done, err := o.publisher()
	if err != nil {
		return err
	}
	defer done()
	err = p.Publish(ctx, o.bundle, serving.PublishOptions{Keep: o.Keep, Sign: o.Sign, Expect: expect,
		OtherData: o.RefitSchema,
		Progress:  func(done, total int) { o.Progress.Step("publishing rows of M", done, total) }})
	if err != nil {
		return err
	}
	o.Report.Published = true
	if o.grown.Dir == "" {
		return nil
	}
	return o.grown.publish(o.Disk)
}

// end lets the next round go on from this one, and commits the group's offsets.
func (o *round) end(ctx context.Context) (err error) {
	o.Graph, o.Forget = o.grown, nil
	if o.Current != "" {
		o.Current = o.Report.Artifact
	}
	o.doing = "committing offsets"
	o.Report.Committed, err = o.commit(ctx, o.next)
	return err
}
