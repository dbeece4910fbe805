package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// ErrNoVersion is returned while no artifact has been loaded.
var ErrNoVersion = errors.New("no version of the artifact is loaded yet")

// ErrLookup is wrapped by an error of the row store. Nothing of the batch has left the process: it may be tried again.
var ErrLookup = errors.New("reading mapping rows")

// PipelineOptions are the parts and settings of the path of a record.
type PipelineOptions struct {
	Versions  Versions
	Deliverer Deliverer
	// Mode says which arrivals of a batch see each other.
	Mode   *attach.Mode
	Limits event.Limits
	Output Output
	// Arrivals has arrivals become nodes that later ones attach to. The versions must have growth then.
	Arrivals bool
	// ReadOnly attaches arrivals to the rows that are there and gives them no rows of their own.
	ReadOnly bool
	// Forget removes stored rows and features of the ids that records ask to forget; nil: such records are passed over.
	Forget Forgetter
	// Forms are the forms that records may have.
	Forms read.Reader
	// Features has the features of arrivals whose records hold none; nil: such records are dead letters.
	Features FeatureStore
	// IgnoreUnknown passes over features whose names the version's schema does not have; else they are dead letters.
	IgnoreUnknown bool
	// Traced has predictions carry the trace context of their arrivals' records.
	Traced bool
	// Observer may be nil.
	Observer Observer
	// Clock may be nil: the machine's.
	Clock Clock
}

// Pipeline is the path of a record. It has memory of its own that each batch uses again, so it serves one batch at a
// time; several pipelines may share everything in their options.
type Pipeline struct {
	PipelineOptions
	batch   *batch
	spares  *spares         // memory of other batches
	keeping *retry.Attempts // waits for rows of arrivals to be written; nil: one attempt
}

// NewPipeline returns a pipeline. It needs no Kafka: the caller of [Pipeline.Process] says where records come from,
// and the Deliverer where predictions go.
func NewPipeline(opts PipelineOptions) (*Pipeline, error) {
	if opts.Versions == nil || opts.Deliverer == nil || opts.Mode == nil {
		return nil, errors.New("consumer: a pipeline needs Versions, a Deliverer and a Mode")
	}
	switch opts.Output.Representation {
	case "", RepresentationNone, event.RepresentationLogits, event.RepresentationEmbedding:
	default:
		return nil, fmt.Errorf("consumer: representation is %q, want %q, %q or %q", opts.Output.Representation,
			RepresentationNone, event.RepresentationLogits, event.RepresentationEmbedding)
	}
	if opts.Output.Explain < 0 {
		return nil, fmt.Errorf("consumer: %d reasons a prediction, want 0 or more", opts.Output.Explain)
	}
	if opts.Observer == nil {
		opts.Observer = NopObserver{}
	}
	if opts.Clock == nil {
		opts.Clock = SystemClock{}
	}
	opts.Forms.LookUp = opts.Features != nil
	return &Pipeline{PipelineOptions: opts, batch: new(batch), spares: &spares{most: 1}}, nil
}

// Process takes one batch from its records to its publication, and hands it to the committer of its generation, if it
// has one. This is the whole path of a record; its callers do retries, the order of batches, and drains.
//
// After an error nothing or all of the batch may have been published. Its offsets are not committed.
func (p *Pipeline) Process(ctx context.Context, in Intake) error {
	version, err := p.current() // one version serves the whole batch
	if err != nil {
		return err
	}
	b, watch := p.batch, p.stopwatch()
	defer func() { p.batch.shed() }() // another one's, if this one was handed over
	stats := BatchStats{Name: in.Name, Version: version.Info().ID, Records: len(in.Records), Started: watch.last}
	release := graph.Busy()
	defer release()
	// Bytes to arrivals, with features from a store where they bring none; else dead letters with the reason.
	model := p.model(version.Info())
	if err := p.decode(ctx, &b.decoded, in, model); err != nil {
		return err
	}
	stats.Values = model.tally.Counts()
	watch.lap(&stats.Decode)

	// The rows of M of all neighbours: their numbers where M is in memory, else each distinct id once.
	if err := p.lookup(ctx, &b.neighbours, version, &b.decoded); err != nil {
		return fmt.Errorf("%w: %w", ErrLookup, err)
	}
	watch.lap(&stats.Lookup)

	// r = aM, the arrivals' own edges ã, degrees and features (docs/algorithm.md, sections 1 and 2).
	p.attach(&b.attachment, version, &b.decoded, &b.neighbours)
	watch.lap(&stats.Attach)

	// Forward, propagate, calibrate; then make predictions of the results.
	if err := p.predict(ctx, &b.predicted, version, in.Name, &b.decoded, &b.attachment); err != nil {
		return err
	}
	watch.lap(&stats.Infer)
	p.describe(&stats, b)
	p.solve(&b.growth, version, b) // rows of M for the arrivals, solved beside the next stages
	release()
	// Published after the batches that were read before this one. Its rows are written and removed before the batch behind
	// it is published, and before its offsets are committed.
	refused, err := p.publish(ctx, in, b, watch, &stats)
	if err != nil {
		return err
	}
	out := b.amend(refused)
	if err := p.store(ctx, version, b, &stats); err != nil {
		return fmt.Errorf("giving up batch %s: %w", in.Name, err)
	}
	watch.lap(&stats.Keep)
	stats.Solve, stats.Solved, stats.Residual = b.growth.took, len(b.growth.arrived), b.growth.residual
	stats.Delivered = &out
	p.hand(in.Turn, b, stats, watch)
	return nil
}

// stopwatch measures the stages of one batch.
type stopwatch struct {
	clock Clock
	last  time.Time
}

func (p *Pipeline) stopwatch() *stopwatch { return &stopwatch{p.Clock, p.Clock.Now()} }

// lap sets d to the time since the last lap.
func (w *stopwatch) lap(d *time.Duration) {
	now := w.clock.Now()
	*d, w.last = now.Sub(w.last), now
}

// publish encodes the batch, waits for its turn to be published, and publishes it.
func (p *Pipeline) publish(ctx context.Context, in Intake, b *batch, watch *stopwatch,
	stats *BatchStats) ([]kafka.Refusal, error) {
	publish, err := p.pack(ctx, b.output())
	if err != nil {
		return nil, fmt.Errorf("publishing batch %s: %w", in.Name, err)
	}
	watch.lap(&stats.Encode)

	if err := in.Turn.await(ctx); err != nil {
		return nil, err
	}
	watch.lap(&stats.Wait)

	refused, err := publish(ctx, in.Offsets)
	if err != nil {
		return nil, fmt.Errorf("publishing batch %s: %w", in.Name, err)
	}
	watch.lap(&stats.Publish)
	stats.Published = watch.last
	return refused, nil
}

// pack returns a function that publishes a batch. The batch is encoded by then if the Deliverer is a Packer.
func (p *Pipeline) pack(ctx context.Context, b event.Batch) (Publish, error) {
	if packer, ok := p.Deliverer.(Packer); ok {
		return packer.Pack(ctx, b)
	}
	return func(ctx context.Context, next kafka.Offsets) ([]kafka.Refusal, error) {
		return p.Deliverer.Publish(ctx, b, next)
	}, nil
}

// hand gives a batch that is published to its committer, and its memory with it. When the batch is committed, or at
// once where nobody commits, the observer hears of it.
func (p *Pipeline) hand(to *turn, b *batch, stats BatchStats, watch *stopwatch) {
	report := func() {
		watch.lap(&stats.Commit)
		p.Observer.Batch(stats)
		for _, reason := range b.refused.dropped {
			p.Observer.Dropped(reason)
		}
	}
	if to == nil {
		report()
		return
	}
	p.batch = p.spares.take()
	to.deliver(delivery{bytes: stats.Bytes, committed: func(visible time.Time) {
		if !visible.IsZero() {
			stats.Published = visible
		}
		report()
	}, over: func() {
		b.shed()
		p.spares.give(b)
	}})
}

// describe sets the figures of a batch's records.
func (p *Pipeline) describe(stats *BatchStats, b *batch) {
	stats.Features, stats.Fetched = b.decoded.fetched.took, len(b.decoded.fetched.ids)
	stats.Decode -= stats.Features
	b.count(stats)
	features := make([]*event.Features, len(b.decoded.arrivals))
	for i, s := range b.decoded.arrivals {
		features[i] = &s.arrival.Features
	}
	stats.Measures, stats.Named = measureAll(features, b.decoded.by.schema)
}

// count sets the figures of the batch's arrivals.
func (b *batch) count(stats *BatchStats) {
	stats.Weights, stats.OldEdges = b.attachment.edgeCounts, b.neighbours.old
	for i, s := range b.decoded.arrivals {
		c := &b.attachment.counts[i]
		stats.Dropped += s.dropped
		if s.other {
			stats.OtherSchema++
		}
		stats.Known += c.known
		stats.Arrivals += c.arrivals
		stats.InBatch += c.inBatch
		stats.Unknown += c.unknown
		if c.known+c.arrivals+c.inBatch == 0 {
			stats.Isolated++
		}
	}
	stats.Bytes, stats.Lookups, stats.Skipped = b.decoded.bytes, len(b.neighbours.ids), b.decoded.skipped
}
