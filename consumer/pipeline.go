package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rivulet/event"
)

// ErrNoVersion is returned while no artifact has been loaded.
var ErrNoVersion = errors.New("no version of the artifact is loaded yet")

// ErrLookup is wrapped by an error of the row store. Nothing of the batch has left the process: it may be tried again.
var ErrLookup = errors.New("reading mapping rows")

// PipelineOptions are what the path of a record needs.
type PipelineOptions struct {
	Versions  Versions
	Deliverer Deliverer
	// Mode is graph or node; empty means graph.
	Mode   Mode
	Limits Limits
	Output Output
	// Arrivals has arrivals become nodes that later ones attach to. The versions must be [Growing] then.
	Arrivals bool
	// Codec decodes records that have no content-type header; nil means JSON.
	Codec event.Codec
	// Observer may be nil.
	Observer Observer
	// Clock may be nil: the machine's.
	Clock Clock
}

// Pipeline is the path of a record. It has memory of its own that each batch uses again, so it serves one batch at a
// time; several pipelines may share everything in their options.
type Pipeline struct {
	PipelineOptions
	slots []slot
	memory
	keeping *outage // of writing rows of arrivals; nil: they are tried once
}

// NewPipeline returns a pipeline. It needs no Kafka: whoever calls [Pipeline.Process] says where records come from, and
// the Deliverer where predictions go.
func NewPipeline(opts PipelineOptions) (*Pipeline, error) {
	if opts.Versions == nil || opts.Deliverer == nil {
		return nil, errors.New("consumer: a pipeline needs Versions and a Deliverer")
	}
	if opts.Mode == "" {
		opts.Mode = Graph
	}
	if opts.Mode != Graph && opts.Mode != Node {
		return nil, fmt.Errorf("consumer: batch mode is %q, want %q or %q", opts.Mode, Graph, Node)
	}
	switch opts.Output.Representation {
	case "", RepresentationNone, event.RepresentationLogits, event.RepresentationEmbedding:
	default:
		return nil, fmt.Errorf("consumer: representation is %q, want %q, %q or %q", opts.Output.Representation,
			RepresentationNone, event.RepresentationLogits, event.RepresentationEmbedding)
	}
	if opts.Codec == nil {
		opts.Codec = event.JSON{}
	}
	if opts.Observer == nil {
		opts.Observer = NopObserver{}
	}
	if opts.Clock == nil {
		opts.Clock = SystemClock{}
	}
	return &Pipeline{PipelineOptions: opts}, nil
}

// Process takes one batch from its records to the end of its delivery. This is the whole path of a record; what happens
// around it (retries, the order of batches, drains) is in the callers.
//
// After an error nothing or all of the batch may have been published, but its offsets are not committed by this call.
func (p *Pipeline) Process(ctx context.Context, in Intake) error {
	version := p.Versions.Current() // one version serves the whole batch
	if version == nil {
		return ErrNoVersion
	}
	watch := p.stopwatch()
	out := event.Batch{Offsets: in.Offsets, Generation: in.Generation}
	stats := BatchStats{Name: in.Name, Version: version.ID(), Records: len(in.Records), Started: watch.last}

	// Bytes to arrivals; what cannot become one is a dead letter with the reason.
	arrivals, deadLetters := p.decode(in.Records, version.Features())
	out.DeadLetters = deadLetters
	watch.lap(&stats.Decode)

	// The rows of M of all neighbours, each distinct id once.
	neighbours, err := p.lookup(ctx, version, arrivals)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLookup, err)
	}
	watch.lap(&stats.Lookup)

	// r = aM, the arrivals' own edges ã, degrees and features (docs/algorithm.md, sections 1 and 2).
	batch := p.attach(version, arrivals, neighbours)
	watch.lap(&stats.Attach)

	// Forward, propagate, calibrate; then what is published of it.
	if len(arrivals) > 0 {
		logits, probabilities := version.Predict(batch)
		out.Predictions = p.predictions(in, version, arrivals, logits, probabilities)
		p.represent(out.Predictions, version, batch, logits)
		p.withdraw(arrivals, &out)
	}
	watch.lap(&stats.Infer)

	// The rows of M that the arrivals get are solved beside what follows.
	var rows *solving
	if p.Arrivals && len(arrivals) > 0 {
		rows = p.solve(version.(Growing), arrivals, batch)
		defer rows.wait()
	}

	// Batches are delivered in the order in which they were read.
	if err := in.After.wait(ctx); err != nil {
		return err
	}
	watch.lap(&stats.Wait)

	delivery, err := p.Deliverer.Publish(ctx, out)
	if err != nil {
		return fmt.Errorf("publishing batch %s: %w", in.Name, err)
	}
	watch.lap(&stats.Publish)

	// No arrival is committed without its row; none is where rows cannot be kept.
	if err := p.keep(ctx, version, rows); err != nil {
		return fmt.Errorf("delivering batch %s: %w", in.Name, errors.Join(err, delivery.Abort(ctx)))
	}
	watch.lap(&stats.Keep)

	if err := delivery.Commit(ctx); err != nil {
		return fmt.Errorf("committing batch %s: %w", in.Name, err)
	}
	watch.lap(&stats.Commit)
	stats.Published = delivery.Published()

	p.report(stats, arrivals, rows, &out)
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

// report tells the observer of a delivered batch.
func (p *Pipeline) report(stats BatchStats, arrivals []*slot, rows *solving, out *event.Batch) {
	for _, s := range arrivals {
		stats.Dropped += s.dropped
		stats.Known += s.known
		stats.Arrivals += len(s.attached)
		stats.InBatch += s.inBatch
		stats.Unknown += s.unknown
		if s.known+len(s.attached)+s.inBatch == 0 {
			stats.Isolated++
		}
	}
	for i := range p.slots {
		stats.Bytes += p.slots[i].bytes
	}
	if rows != nil {
		stats.Solve, stats.Solved, stats.Residual = rows.took, len(rows.arrived), rows.residual
	}
	stats.Lookups, stats.Delivered = len(p.ids), out
	stats.Measures = measure(arrivals)
	p.Observer.Batch(stats)
	for i := range out.DeadLetters {
		p.Observer.DeadLetter(out.DeadLetters[i].Reason)
	}
}
