package consumer

import (
	"context"
	"errors"

	"rivulet/event/read"
	"rivulet/internal/gather"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// line orders the lanes of a generation: the lane that holds the turn forms a batch, takes its place in the order, and
// hands the turn on.
type line struct {
	batcher
	turn   chan struct{}
	commit *committer
}

func (c *Consumer) newLine(member kafka.Member, queue <-chan chunk, commit *committer) *line {
	l := &line{turn: make(chan struct{}, 1), commit: commit, batcher: batcher{
		Bounds: gather.Bounds{Records: c.opts.BatchSize, Bytes: c.opts.BatchBytes}, member: member, formed: &c.formed,
		queue: gather.Queue[chunk]{C: queue, Linger: c.opts.BatchLinger, Clock: c.opts.Path.Clock}}}
	l.turn <- struct{}{}
	return l
}

// lane takes one batch at a time down the path, and owns the memory of its records.
type lane struct {
	path    *Pipeline
	records []kafka.Record
	lookup  *retry.Attempts
	store   *retry.Attempts // waits for the store of features
}

// run forms a batch when the lane is free and takes it down the path, while batches before it may still be on their
// way. It ends when reading has ended and there is nothing more to form, or with the first failure.
func (l *lane) run(reading, work context.Context, in *line) error {
	for {
		<-in.turn
		batch := in.next(reading, l.records)
		l.records = batch.Records
		if batch.Name == "" || errors.Is(context.Cause(reading), errEnded) {
			// Nothing more to read, or the partitions are about to be taken away: the next owner reads these records.
			in.turn <- struct{}{}
			return nil
		}
		batch.Turn = in.commit.take(batch.Offsets)
		in.turn <- struct{}{}
		err := l.process(work, batch)
		read.Release(batch.Messages)
		clear(l.records[:cap(l.records)]) // each record keeps alive all bytes that were fetched with it
		if err != nil {
			batch.Turn.fail()
			return err
		}
	}
}

// process takes a batch down the path, again and again while the rows of M, or features, cannot be read. Each attempt
// asks for the current version anew, so that a batch never waits for a version that has been withdrawn.
func (l *lane) process(ctx context.Context, in Intake) error {
	waitsFor := func(outage error) func(error) bool {
		return func(err error) bool { return errors.Is(err, outage) && !errors.Is(err, retry.ErrGeneration) }
	}
	return l.store.RepeatIf(ctx, waitsFor(ErrFeatures), func() error {
		return l.lookup.RepeatIf(ctx, waitsFor(ErrLookup), func() error { return l.path.Process(ctx, in) })
	})
}
