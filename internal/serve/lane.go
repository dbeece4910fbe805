package serve

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/kafka"
)

// lane takes one micro-batch at a time down the path.
type lane struct {
	queue    *batcher
	versions consumer.Versions
	pipeline *consumer.Pipeline
	explain  bool // explanations are asked for, not predictions
	timeout  time.Duration
	count    *atomic.Uint64 // batches so far, of all lanes

	batch   []*asked
	records []kafka.Record
	places  []place // per record
}

// place says whose arrival a record of a batch is.
type place struct {
	of *asked
	at int // its place in the request
}

// explainTurn is the number of arrivals of a request that are explained before the next request has its turn. An
// arrival takes some 20 ms, so that a request of one waits a fraction of a second beside requests of a thousand.
const explainTurn = 8

// runTurns explains until ctx ends: requests have turns, and one whose client left has no more.
func (l *lane) runTurns(ctx context.Context) {
	var turns []*asked
	var again *asked // has had its turn, and is not done
	for {
		if turns = l.queue.collect(ctx, turns, again); len(turns) == 0 {
			return
		}
		a := turns[0]
		turns, again = turns[1:], nil
		to := min(a.explained+explainTurn, len(a.records))
		err := a.ctx.Err()
		if err == nil {
			l.batch = append(l.batch[:0], a)
			err = l.process(ctx, l.batch, a.explained, to)
		}
		if a.explained = to; err == nil && to < len(a.records) {
			again = a
			continue
		}
		l.queue.taken(a)
		a.done <- err
	}
}

// run answers until ctx ends.
func (l *lane) run(ctx context.Context) {
	if l.explain {
		l.runTurns(ctx)
		return
	}
	for {
		l.batch = l.queue.take(ctx, l.batch[:0])
		if len(l.batch) == 0 {
			return
		}
		l.serve(ctx)
		clear(l.batch)
		clear(l.records)
		clear(l.places)
	}
}

// serve answers a batch. Where rows cannot be read, each request is tried alone, so that one whose rows are lost
// does not take the others with it.
func (l *lane) serve(ctx context.Context) {
	v := l.versions.Current()
	together := v == nil || !v.Info().Joint
	if together {
		err := l.process(ctx, l.batch, 0, everything)
		if len(l.batch) == 1 || !errors.Is(err, consumer.ErrLookup) {
			for _, a := range l.batch {
				a.done <- err
			}
			return
		}
	}
	for k, a := range l.batch {
		err := a.ctx.Err()
		if err == nil {
			err = l.process(ctx, l.batch[k:k+1], 0, everything)
		}
		a.done <- err
	}
}

const everything = math.MaxInt

// process takes requests down the path as one batch: of each the arrivals from one place up to another. Their answers
// are written when it returns nil.
func (l *lane) process(ctx context.Context, batch []*asked, from, to int) error {
	if len(batch) == 1 {
		stop := context.CancelFunc(nil)
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(batch[0].ctx, stop)() //nolint:contextcheck // it ends where nobody waits
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	l.records, l.places = l.records[:0], l.places[:0]
	for _, a := range batch {
		for i := from; i < min(to, len(a.records)); i++ {
			r := a.records[i]
			r.Position = kafka.Position{Offset: int64(len(l.records))}
			l.records, l.places = append(l.records, r), append(l.places, place{a, i})
		}
	}
	in := consumer.Intake{Name: "request-" + strconv.FormatUint(l.count.Add(1), 10), Records: l.records}
	if l.explain {
		return l.explained(ctx, in)
	}
	return l.pipeline.Process(ctx, in)
}

// explained answers why.
func (l *lane) explained(ctx context.Context, in consumer.Intake) error {
	all, dead, err := l.pipeline.Explain(ctx, in)
	if err != nil {
		return err
	}
	for i := range all {
		to := l.places[all[i].Prediction.Source.Offset]
		if err := to.of.answers.explanation(to.at, &all[i]); err != nil {
			return err
		}
	}
	l.refuse(dead)
	return nil
}

// refuse answers arrivals that cannot be predicted.
func (l *lane) refuse(dead []event.DeadLetter) {
	for i := range dead {
		to := l.places[dead[i].Source.Offset]
		to.of.answers.refusal(to.at, dead[i].Reason, dead[i].Detail)
	}
}

// Publish is the end of the path: it gives each prediction to its request.
func (l *lane) Publish(_ context.Context, b event.Batch, _ kafka.Offsets) ([]kafka.Refusal, error) {
	for i := range b.Predictions {
		p := b.Predictions[i]
		to := l.places[p.Source.Offset]
		p.Source.Offset = int64(to.at)
		if err := to.of.answers.prediction(to.at, &p); err != nil {
			return nil, err
		}
	}
	l.refuse(b.DeadLetters)
	return nil, nil
}
